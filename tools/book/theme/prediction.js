// A lesson asks for the speed of its programs before it shows what was measured. The predictions of all chapters are kept
// in the browser, if it keeps anything, and the first page gathers them.
{
  const KEPT = "predictions";
  let kept = {};  // {program: TFLOP/s, "uncovered CHAPTER": true}
  const keep = () => {
    try { localStorage.setItem(KEPT, JSON.stringify(kept)); } catch {}
  };
  try { kept = JSON.parse(localStorage.getItem(KEPT)) || {}; } catch {}
  const inShort = number => +number >= 100 ? Math.round(number) : (+number).toFixed(1);

  const form = document.querySelector("form.prediction"), measurement = document.getElementById("measurement");
  if (form && measurement) {
    const guesses = [...form.querySelectorAll(".guess")], done = `uncovered ${form.dataset.chapter}`;
    const submit = form.querySelector("[type=submit]"), without = submit.textContent;
    // All that tells the result, up to "Run it".
    const cover = Object.assign(document.createElement("div"), { className: "cover" }), covered = [];
    const inside = [...measurement.children].slice(1);
    for (let next = measurement.nextElementSibling; next && next.id !== "run-it"; next = next.nextElementSibling) covered.push(next);
    const hidden = Object.assign(document.createElement("div"), { className: "result" });
    hidden.append(...inside);
    measurement.append(hidden);
    cover.append(form.querySelector("template").content);
    const toHide = [hidden, ...covered];

    const draw = guess => {
      const own = kept[guess.dataset.program], [bar, number] = guess.querySelectorAll("input");
      guess.classList.toggle("given", own !== undefined);
      if (own !== undefined) {
        bar.value = own;
        if (document.activeElement !== number) number.value = inShort(own);
        guess.style.setProperty("--own", Math.min(1, own / bar.max));
        guess.querySelector("[data-own]").textContent = inShort(own);
      }
      submit.textContent = guesses.some(each => each.matches(".given")) ? submit.dataset.with : without;
    };
    const uncover = () => {
      if (form.matches(".uncovered")) return;
      kept[done] = true;
      keep();
      form.classList.add("uncovered");
      cover.remove();
      for (const each of toHide) each.hidden = false;
      for (const each of form.querySelectorAll("input")) each.disabled = true;
      submit.hidden = true;
    };
    for (const guess of guesses) {
      const [bar, number] = guess.querySelectorAll("input");
      for (const each of [bar, number]) {
        each.addEventListener("input", () => {
          if (each.value === "") delete kept[guess.dataset.program];
          else kept[guess.dataset.program] = Math.max(0, +each.value);
          keep();
          draw(guess);
        });
      }
    }
    form.addEventListener("submit", event => {
      event.preventDefault();
      uncover();
      guesses[0].querySelector("output").scrollIntoView({ block: "nearest" });
    });
    cover.querySelector("button").addEventListener("click", () => {
      uncover();
      measurement.scrollIntoView();
    });
    // A link into the covered part, and the browser's search, uncover it.
    const target = () => {
      const to = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
      if (to && toHide.some(each => each.contains(to))) uncover(), to.scrollIntoView();
    };
    addEventListener("hashchange", target);
    form.hidden = false;
    guesses.forEach(draw);
    if (kept[done]) uncover();
    else {
      measurement.append(cover);
      for (const each of toHide) {
        each.setAttribute("hidden", "until-found");
        each.addEventListener("beforematch", uncover);
      }
      target();
    }
  }

  const gathered = document.querySelector("p.predicted");
  const own = gathered ? [...gathered.previousElementSibling.querySelectorAll("tbody tr")]
    .map(row => [row, kept[row.cells[0].textContent.trim()]]) : [];
  const number = own.filter(([, guess]) => guess !== undefined).length;
  if (number) {
    const head = own[0][0].closest("table").tHead.rows[0];
    for (const [row, guess] of [[head, gathered.dataset.yours], ...own]) {
      const cell = row.cells[2].cloneNode();
      cell.textContent = row === head ? guess : guess === undefined ? "-" : inShort(guess);
      cell.className += " yours";
      row.cells[2].after(cell);
    }
    const counts = [number, gathered.dataset.of];
    gathered.querySelector("span").textContent = gathered.dataset.text.replace(/\{\}/g, () => counts.shift());
    gathered.hidden = false;
    gathered.querySelector("button").addEventListener("click", () => {
      kept = {};
      keep();
      location.reload();
    });
  }
}
