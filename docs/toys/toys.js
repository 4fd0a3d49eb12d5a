// What the toys share: words in three languages, settings that stand in the address, and SVG. A page has WORDS, [English, Japanese,
// Chinese] by name, and calls toy().

const LANGUAGES = { en: "English", ja: "日本語", zh: "中文" };
const find = selector => document.querySelector(selector);
let language = Math.max(0, Object.keys(LANGUAGES).indexOf((navigator.language || "en").slice(0, 2)));
const say = (name, values = {}) => WORDS[name][language].replace(/\{(\w+)\}/g, (_, each) => values[each]);
function list(numbers) {
  const last = numbers[numbers.length - 1];
  if (numbers.length > 8) return `${numbers.slice(0, 6).join(", ")}, … ${last}`;
  return numbers.slice(0, -1).join(", ") + (numbers.length > 1 ? [" and ", ", ", ", "][language] : "") + last;
}

// A picture as wide as its place. parts: SVG. Its text alternative is the sentence.
function picture(height, parts) {
  const width = find("#figure").clientWidth;
  find("#figure").innerHTML = `<svg width="${width}" height="${height}" role="img" aria-labelledby="says">${parts.join("")}</svg>`;
}
const box = (x, y, width, height, kind, title = "") =>
  `<rect class="${kind}" x="${x}" y="${y}" width="${width}" height="${height}"><title>${title}</title></rect>`;
const text = (x, y, words, kind = "", anchor = "middle") =>
  `<text class="${kind}" x="${x}" y="${y}" text-anchor="${anchor}">${words}</text>`;

// settings: { name: { value, from, to, step } or { value, choices } }; bounds may be functions of the state, and `power` shows two to
// the value. draw(state) draws, and returns the sentence as HTML. Returns set(changes).
function toy(settings, draw) {
  const state = {}, names = Object.keys(settings), of = bound => typeof bound === "function" ? bound(state) : bound;
  find("#controls").innerHTML = names.map(name => settings[name].choices
    ? `<label for="${name}" data-say="${name}"></label><select id="${name}"></select>`
    : `<label for="${name}" data-say="${name}"></label><input type="range" id="${name}"><output for="${name}"></output>`).join("");
  find("#language").innerHTML = Object.values(LANGUAGES).map((each, i) => `<option value="${i}">${each}</option>`).join("");
  const set = changes => {
    Object.assign(state, changes);
    names.forEach(name => {
      const { choices, from, to, step = 1, power } = settings[name], control = find("#" + name);
      const [low, high, by] = [of(from), of(to), of(step)];
      if (choices) {
        if (!choices.includes(state[name])) state[name] = choices[0];
        control.innerHTML = choices.map(each => `<option value="${each}">${WORDS[name + each] ? say(name + each) : each}</option>`);
      } else {
        state[name] = Math.min(high, Math.max(low, Math.round((state[name] || 0) / by) * by));
        Object.assign(control, { min: low, max: high, step: by });
        control.nextElementSibling.value = power ? 2 ** state[name] : state[name];
        control.setAttribute("aria-valuetext", control.nextElementSibling.value);
      }
      control.value = state[name];
    });
    document.documentElement.lang = Object.keys(LANGUAGES)[language];
    document.querySelectorAll("[data-say]").forEach(each => { each.textContent = say(each.dataset.say); });
    find("#language").value = language;
    const sentence = draw(state);
    if (find("#says").innerHTML !== sentence) find("#says").innerHTML = sentence;
    history.replaceState(null, "", "#" + new URLSearchParams(state));
  };
  const parsed = query => Object.fromEntries([...new URLSearchParams(query)].map(([name, value]) => [name, +value || 0]));
  const fresh = changes => ({ ...Object.fromEntries(names.map(name => [name, settings[name].value])), ...changes });
  // #wide is the button behind <a id="wide">; #stride=8&bytes=16 are settings.
  const read = () => set(fresh(parsed(document.getElementById(location.hash.slice(1))?.nextElementSibling.dataset.set
    ?? location.hash.slice(1))));
  names.forEach(name => find("#" + name).addEventListener("input", e => set({ turn: 0, [name]: +e.target.value })));
  document.querySelectorAll("[data-set]").forEach(each => each.addEventListener("click", () => set(fresh(parsed(each.dataset.set)))));
  find("#language").addEventListener("input", e => { language = +e.target.value; set({}); });
  addEventListener("hashchange", read);
  addEventListener("resize", () => set({}));
  read();
  return set;
}
