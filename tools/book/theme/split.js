// Splits text into words and, where text has no spaces, into every two adjacent characters, like Search.split() in
// tools/book/make_site.py.
var splitQuery = query => (query.toLowerCase().match(/[\p{Letter}\p{Number}_]+/gu) || [])
  .flatMap(word => word.match(/[\u3005-\u30ff\u4e00-\u9fff]+|[^\u3005-\u30ff\u4e00-\u9fff]+/g))
  .flatMap(run => run[0] >= "\u3005" && run.length > 2 ? [...run.slice(1)].map((_, i) => run.slice(i, i + 2)) : [run]);
