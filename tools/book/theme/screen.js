// The picture of the first page: the reader chooses a chapter and a moment, stops the time or lets it run. It begins with
// the last chapter.
for (const screen of document.querySelectorAll(".screen")) {
  const find = selector => screen.querySelector(selector), cycle = +screen.dataset.cycle;
  const root = find(".picture").attachShadow({ mode: "open" });
  root.append(find("template").content);
  const svg = root.querySelector("svg"), steps = [...svg.querySelectorAll(".step")];
  const choices = [...screen.querySelectorAll("[name=step]")], play = find("[data-play]"), moment = find("[type=range]");
  let at = 0, runs = false, seen = true;
  const moving = () => svg.getAnimations({ subtree: true }).filter(({ effect }) => effect.target.classList.contains("t"));

  const show = step => {
    at = (step + steps.length) % steps.length;
    const number = choices[at].value;
    choices[at].checked = true;
    steps.forEach((each, i) => each.classList.toggle("shown", i === at));
    for (const each of screen.querySelectorAll("[data-step]")) each.hidden = each.dataset.step !== number;
    seek(0);
  };
  const seek = time => {
    moment.value = time;
    for (const each of moving()) each.currentTime = time;
  };
  const run = on => {
    runs = on;
    play.textContent = on ? play.dataset.pause : play.dataset.play;
    svg.classList.toggle("still", !(on && seen));
  };
  const choose = step => {
    find(".told").ariaLive = "polite";  // not before, because a screen reader would speak all the time
    show(step);
    if (!runs) seek(.26 * cycle);
  };

  choices.forEach((each, i) => each.addEventListener("change", () => choose(i)));
  for (const each of screen.querySelectorAll("[data-go]")) each.addEventListener("click", () => choose(at + +each.dataset.go));
  play.addEventListener("click", () => run(!runs));
  moment.addEventListener("input", () => {
    run(false);
    seek(+moment.value);
  });
  setInterval(() => {
    if (!runs || !seen) return;
    moment.value = (moving()[0]?.currentTime ?? 0) % cycle;
  }, 50);
  new IntersectionObserver(([{ isIntersecting }]) => {
    seen = isIntersecting;
    run(runs);
  }).observe(screen);

  const theme = () => svg.dataset.theme = document.body.dataset.theme;  // light, dark or auto
  new MutationObserver(theme).observe(document.body, { attributeFilter: ["data-theme"] });
  theme();
  svg.classList.add("driven");
  svg.setAttribute("viewBox", "18 8 414 364");  // without margins, because it stands on the page
  for (const each of ["width", "height"]) svg.removeAttribute(each);
  find("img").hidden = true;
  find(".controls").hidden = false;
  show(steps.length - 1);  // the result
  run(!matchMedia("(prefers-reduced-motion: reduce)").matches);
  if (!runs) seek(.26 * cycle);
}
