// What the toys share: settings that stand in the address, and SVG. A page has WORDS for language.js, and calls toy().

const find = selector => document.querySelector(selector);
function list(numbers) {
  const last = numbers[numbers.length - 1];
  if (numbers.length > 8) return `${numbers.slice(0, 6).join(", ")}, … ${last}`;
  return numbers.slice(0, -1).join(", ") + (numbers.length > 1 ? [" and ", ", ", ", "][language] : "") + last;
}

// How wide a picture may be. In a frame that is not shown yet there is no room; it is drawn again when there is.
const roomOf = () => find("#figure").clientWidth || 320;
const ruler = document.createElement("canvas").getContext("2d");
// How long words are in a picture.
function long(words, size = 11) {
  ruler.font = `${size}px system-ui, sans-serif`;
  return ruler.measureText(words).width;
}
// Lines in red, for what waits or is wasted.
const HATCH = '<defs><pattern id="hatch" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">' +
  '<rect class="under-hatch" width="5" height="5"/><rect class="hatch" width="2" height="5"/></pattern></defs>';
// A picture, as wide as its place unless told. parts: SVG. The sentence beside it says in words what it shows. What else stands in
// the figure stays, such as a corner that a finger drags.
function picture(height, parts, width = roomOf()) {
  find("#figure svg")?.remove();
  find("#figure").classList.remove("pointed");
  find("#figure").insertAdjacentHTML("afterbegin",
    `<svg width="${width}" height="${height}" role="img" aria-labelledby="title">${HATCH}${parts.join("")}</svg>`);
}
// tip: what the box says when it is pointed at, or tapped. With data-of, some words, all that shares one of them stands out then.
const box = (x, y, width, height, kind, tip = "", more = "") =>
  `<rect class="${kind}" x="${x}" y="${y}" width="${width}" height="${height}"${tip && ` data-tip="${tip}"`} ${more}/>`;
const text = (x, y, words, kind = "", anchor = "middle") =>
  `<text class="${kind}" x="${x}" y="${y}" text-anchor="${anchor}">${words}</text>`;

// Shows the tip of the box under the pointer, above it and to the right; a finger's stays until the next tap.
function tips() {
  const tip = document.body.appendChild(document.createElement("div")), figure = find("#figure");
  tip.id = "tip";
  const show = e => {
    const cell = e.target.closest?.("[data-tip]"), shared = cell?.dataset.of?.split(" ");
    tip.textContent = cell ? cell.dataset.tip : "";
    figure.classList.toggle("pointed", !!shared);
    if (shared) figure.querySelectorAll("[data-of]").forEach(each =>
      each.classList.toggle("of", each.dataset.of.split(" ").some(word => shared.includes(word))));
    if (!cell) return;
    const frame = cell.getBoundingClientRect(), room = document.documentElement.clientWidth - tip.offsetWidth - 4;
    tip.style.left = `${scrollX + Math.max(4, Math.min(frame.right + 6, room))}px`;
    tip.style.top = `${scrollY + (frame.top > tip.offsetHeight + 6 ? frame.top - tip.offsetHeight - 3 : frame.bottom + 3)}px`;
  };
  for (const event of ["pointerover", "pointerdown"]) document.addEventListener(event, show);
  document.documentElement.addEventListener("pointerleave", e => { if (e.pointerType === "mouse") show(e); });
}

const PHONE = matchMedia("(max-width: 599px)");
// On a phone a reader opens what explains the picture; elsewhere it is open.
function foldAbout() {
  const about = find("#about"), fold = document.createElement("details"), show = () => { fold.open = !PHONE.matches; };
  WORDS.reading = ["How to read the picture", "図の見方", "图的读法"];
  fold.id = "reading";
  about.before(fold);
  fold.innerHTML = '<summary class="lesser" data-say="reading"></summary>';
  fold.append(about);
  PHONE.addEventListener("change", show);
  show();
}
// On a phone the control of the task stays in sight, below the picture; the others follow.
function keepInSight(name) {
  if (!name) return;
  const own = [...find("#controls").children].filter(each => [each.id, each.htmlFor?.value ?? each.htmlFor].some(of => of === name || of === "label_" + name));
  const home = new Comment(), main = document.createElement("div");
  main.id = "main";
  find("#controls").before(main);
  own[0].before(home);
  const place = () => PHONE.matches ? main.append(...own) : home.after(...own);
  PHONE.addEventListener("change", place);
  place();
}

// settings: { name: { value, from, to, step } or { value, choices } }; bounds may be functions of the state, `power` shows two to the
// value, a `number` is typed, and `main` is the control of the task. Choices are a list, or with `buttons` a button each; show(choice) is the word of one that WORDS
// lacks. draw(state) draws, and returns the sentence as HTML. solved(state): whether a reader has done what the word `task` asks for;
// the word `solved` says so. Returns set(changes). A word of WORDS is explained by that of the same name after "what_", where it stands
// and in the list of all. A click on a part of the picture that has data-choose changes those settings.
function toy(settings, draw, solved) {
  const state = {}, names = Object.keys(settings), of = bound => typeof bound === "function" ? bound(state) : bound;
  const controlOf = name => {
    const { choices, buttons, number } = settings[name], label = `<label for="${name}" data-say="${name}"></label>`;
    if (buttons)
      return `<span id="label_${name}" data-say="${name}"></span>` +
        `<span id="${name}" class="row" role="group" aria-labelledby="label_${name}">` +
        `${choices.map(each => `<button value="${each}"></button>`).join("")}</span>`;
    if (choices) return `${label}<select id="${name}"></select>`;
    return `${label}<input type="${number ? "number" : "range"}" id="${name}"><output for="${name}"></output>`;
  };
  find("#controls").innerHTML = names.map(controlOf).join("");
  keepInSight(names.find(name => settings[name].main));
  foldAbout();
  find("#language").innerHTML = languageOptions();
  const same = query => (preset => names.every(name => name === "wavefront" || preset[name] === state[name]))(fresh(parsed(query)));
  const presets = [...document.querySelectorAll("[data-set]")];
  const explained = Object.keys(WORDS).filter(each => each.startsWith("what_"));
  const set = changes => {
    Object.assign(state, changes);
    names.forEach(name => {
      const { choices, from, to, step = 1, power, buttons, show } = settings[name], control = find("#" + name);
      const [low, high, by] = [of(from), of(to), of(step)];
      const word = each => WORDS[name + each] ? say(name + each) : show ? show(each) : each;
      if (choices && !choices.includes(state[name])) state[name] = choices[0];
      if (buttons) {
        for (const each of control.children) {
          each.textContent = word(+each.value);
          each.setAttribute("aria-pressed", +each.value === state[name]);
        }
      } else if (choices) {
        control.innerHTML = choices.map(each => `<option value="${each}">${word(each)}</option>`);
      } else {
        state[name] = Math.min(high, Math.max(low, Math.round((state[name] || 0) / by) * by));
        Object.assign(control, { min: low, max: high, step: by });
        control.nextElementSibling.value = power ? 2 ** state[name] : state[name];
        control.setAttribute("aria-valuetext", control.nextElementSibling.value);
      }
      control.value = state[name];
    });
    document.documentElement.lang = Object.keys(LANGUAGES)[language];
    document.querySelectorAll("[data-say]").forEach(each => {
      each.textContent = say(each.dataset.say);
      if (WORDS["what_" + each.dataset.say]) each.title = say("what_" + each.dataset.say);
    });
    presets.forEach(each => each.setAttribute("aria-pressed", same(each.dataset.set)));
    if (find("#words"))
      find("#words").innerHTML = explained.map(each => `<dt>${say(each.slice(5))}</dt><dd>${say(each)}</dd>`).join("");
    find("#language").value = language;
    const sentence = draw(state);
    if (find("#says").innerHTML !== sentence) find("#says").innerHTML = sentence;
    if (solved) {
      const place = find("#task"), done = solved(state), [task, other] = done ? ["solved", "task"] : ["task", "solved"];
      place.classList.toggle("done", done);
      place.dataset.other = "☐ " + say(other);
      if (place.textContent !== say(task)) place.innerHTML = `<span>${say(task)}</span>`;
    }
    history.replaceState(null, "", "#" + new URLSearchParams(state));
  };
  const parsed = query => Object.fromEntries([...new URLSearchParams(query)].map(([name, value]) => [name, +value || 0]));
  const fresh = changes => ({ ...Object.fromEntries(names.map(name => [name, settings[name].value])), ...changes });
  // #wide is the button behind <a id="wide">; #stride=8&bytes=16 are settings.
  // `here` are the presets of its chapter.
  const read = () => {
    const named = document.getElementById(location.hash.slice(1))?.nextElementSibling;
    set(fresh(parsed(named?.dataset.set ?? location.hash.slice(1))));
    const here = named || presets.find(each => same(each.dataset.set)) || presets[0];
    presets.forEach(each => each.parentElement.classList.toggle("here", each.parentElement === here?.parentElement));
  };
  names.forEach(name => {
    const { buttons, number } = settings[name], event = buttons ? "click" : number ? "change" : "input";
    find("#" + name).addEventListener(event, e => { if (e.target.value) set({ wavefront: 0, [name]: +e.target.value }); });
  });
  find("#figure").addEventListener("click", e => { if (e.target.dataset.choose) set(parsed(e.target.dataset.choose)); });
  presets.forEach(each => each.addEventListener("click", () => set(fresh(parsed(each.dataset.set)))));
  find("#language").addEventListener("input", e => { language = +e.target.value; set({}); });
  addEventListener("hashchange", read);
  tips();
  read();
  let drawn = find("#figure").clientWidth;
  new ResizeObserver(() => requestAnimationFrame(() => {
    if (drawn === find("#figure").clientWidth) return;
    drawn = find("#figure").clientWidth;
    set({});
  })).observe(find("#figure"));
  return set;
}
