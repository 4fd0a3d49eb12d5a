// The reader's language, and words in it. A page has WORDS: [English, Japanese, Chinese] by name. page.html?ja is in Japanese.
// {lanes} is a value; {n:lane|lanes} is the first word if n is 1, else the second.

const LANGUAGES = { en: "English", ja: "日本語", zh: "中文" };
let language = Math.max(0, Object.keys(LANGUAGES).indexOf((location.search.slice(1) || navigator.language || "en").slice(0, 2)));
const say = (name, values = {}) => WORDS[name][language].replace(/\{(\w+)(?::([^|}]*)\|([^}]*))?\}/g,
  (_, each, one, many) => one === undefined ? values[each] : values[each] === 1 ? one : many);
const languageOptions = () => Object.values(LANGUAGES).map((each, i) => `<option value="${i}">${each}</option>`).join("");
