// Words of the glossary, which a page explains at their first use.

const GLOSSARY = "GLOSSARY";  // for each language: { word: its meaning in the glossary }
// Japanese and Chinese words have no boundaries.
const A_WORD = GLOSSARY.map(words => new RegExp(Object.keys(words).sort((a, b) => b.length - a.length)
  .map(word => /\w$/.test(word) ? `(?<![\\w.])${word}s?(?![\\w\\[])` : word).join("|"), "i"));

// Fills an element with text. At its first use each word of the glossary is explained when it is pointed at, tapped or
// reached by the tab key. known: Map of words to the elements that explain them already.
function setText(element, text, known = new Map()) {
  const here = new Set();
  element.replaceChildren();
  for (let at = 0; at < text.length;) {
    const found = A_WORD[language].exec(text.slice(at)), words = GLOSSARY[language];
    if (!found) { element.append(text.slice(at)); break; }
    const is = word => word.toLowerCase() === found[0].toLowerCase();
    const word = Object.keys(words).find(each => is(each) || is(each + "s"));
    element.append(text.slice(at, at + found.index));
    at += found.index + found[0].length;
    if (here.has(word) || (known.get(word) || element) !== element) { element.append(found[0]); continue; }
    here.add(word);
    known.set(word, element);
    const span = document.createElement("span");
    span.className = "word";
    span.textContent = found[0];
    explain(span, words[word]);
    element.append(span);
  }
}
