// The page's words, in English, Japanese and Chinese. Captions and meanings of words come from explanations.py.

const WORDS = {
  // events
  "kind global load": ["global load", "グローバルロード", "全局加载"],
  "kind global store": ["global store", "グローバルストア", "全局存储"],
  "kind shared load": ["shared load", "共有ロード", "共享加载"],
  "kind shared store": ["shared store", "共有ストア", "共享存储"],
  "kind copy": ["copy", "非同期コピー", "异步拷贝"],
  "kind barrier": ["barrier", "バリア", "屏障"],
  "kind wait": ["wait", "待機", "等待"],
  "kind arrive": ["arrive", "到着", "到达"],
  "kind bulk load": ["bulk load", "TMA ロード", "TMA 加载"],
  "kind bulk store": ["bulk store", "TMA ストア", "TMA 存储"],
  "kind store wait": ["store wait", "TMA ストアの待機", "等待 TMA 存储"],
  "kind tensor": ["tensor", "Tensorコア", "Tensor Core"],
  "kind wgmma wait": ["wgmma wait", "wgmma の待機", "等待 wgmma"],
  "kind warp sync": ["warp sync", "ワープ同期", "warp 同步"],
  "kind cluster arrive": ["cluster arrive", "クラスタへの到着", "到达线程块簇"],
  "kind cluster wait": ["cluster wait", "クラスタの待機", "等待线程块簇"],
  "kind nothing": ["nothing", "なし", "无"],
  event: ["Warp {warp}, event {at} of {of}: {kind}, {line}", "ワープ {warp}、イベント {at} / {of}: {kind}、{line}",
    "warp {warp}，事件 {at} / {of}：{kind}，{line}"],
  line: ["line {line}", "{line} 行目", "第 {line} 行"],
  noLine: ["line unknown", "行は不明", "行号未知"],
  idle: ["Warp {warp} accesses nothing: its threads return at once.", "ワープ {warp} は何にもアクセスしません。スレッドがすぐに return するためです。",
    "warp {warp} 什么也不访问：它的线程立即返回。"],
  request: [", {width} bytes per lane, {lanes}: {cost}", "、1 レーンあたり {width} バイト、{lanes}: {cost}", "，每通道 {width} 字节，{lanes}：{cost}"],
  atBest: [", {best} at best", " (最少 {best})", "（最少 {best}）"],
  laneNamed: ["lane {lane}", "レーン {lane}", "通道 {lane}"],
  noPart: [" takes no part", " は参加しません", " 不参与"],
  nothing: ["nothing", "なし", "无"],
  other: ["other memory", "ほかのメモリ", "其他内存"],
  wait: ["waits until phase {phase} of {barrier} is complete", "{barrier} のフェーズ {phase} の完了を待つ", "等待 {barrier} 的相位 {phase} 完成"],
  look: ["goes on at once: phase {phase} of {barrier} is complete", "{barrier} のフェーズ {phase} は完了しているので、すぐに先へ進む",
    "立即继续：{barrier} 的相位 {phase} 已完成"],
  lookFirst: ["goes on at once: the phase before the first of {barrier} is complete",
    "{barrier} の最初のフェーズより前は完了とみなされるので、すぐに先へ進む", "立即继续：{barrier} 首个相位之前视为已完成"],
  arrive: ["at {barrier}", "{barrier} に到着", "到达 {barrier}"],
  arriveBytes: ["at {barrier}, which expects {bytes} bytes more", "{barrier} に到着。さらに {bytes} バイトを待つと伝える",
    "到达 {barrier}，并告知它再等待 {bytes} 字节"],
  load: ["{box} to {place}, counted on {barrier}", "{box} を {place} へ。{barrier} に知らせる", "{box} 到 {place}，并通知 {barrier}"],
  store: ["{place} to {box}", "{place} を {box} へ", "{place} 到 {box}"],
  fill: ["fills registers with {a}", "{a} をレジスタに入れる", "把 {a} 放入寄存器"],
  mma: ["multiplies registers that were filled from {places}", "{places} から読んだレジスタどうしの積", "从 {places} 读入的寄存器相乘"],
  wgmma: ["reads {places}", "{places} を読む", "读取 {places}"],
  product: [": {a} times {b}", ": {a} × {b}", "：{a} × {b}"],
  unknown: ["multiplies registers that no recorded load filled", "記録されたロードによらないレジスタどうしの積", "相乘的寄存器并非由所记录的加载填入"],
  addedTo: [", added to {c}", "。{c} に足す", "，累加到 {c}"],
  and: [" and ", " と ", " 和 "], comma: [", ", "、", "，"], colon: [": ", ": ", "："], semicolon: ["; ", " · ", "；"],
  andLast: [" and ", ", ", ", "],
  lanes: ["{n} lanes", "{n} レーン", "{n} 个通道"], warps: ["{n} warps", "{n} ワープ", "{n} 个 warp"],
  sectors: ["{n} sectors", "{n} セクタ", "{n} 个扇区"], wavefronts: ["{n} wavefronts", "{n} ウェーブフロント", "{n} 个 wavefront"],
  lines: ["{n} lines", "{n} ライン", "{n} 个缓存行"], words: ["{n} words", "{n} ワード", "{n} 个字"],
  warpNamed: ["warp {n}", "ワープ {n}", "warp {n}"], warpsNamed: ["warps {n}", "ワープ {n}", "warp {n}"],
  // problems and captions
  show: [". Show ", "。表示: ", "。查看："],
  access: ["{kind}, warp {warp} lane {lane}", "{kind}、ワープ {warp} レーン {lane}", "{kind}，warp {warp} 通道 {lane}"],
  raced: ["race in {where} memory: {first} {writes} what {second} {reads} ({who})",
    "{where}メモリのデータ競合: {first} が{writes}ものを、{second} が{reads} ({who})",
    "{where}内存中的数据竞争：{first} {writes} {second} {reads}的内容（{who}）"],
  alike: ["; the same {pairs}", "。{pairs}も同様", "；{pairs}也一样"],
  explains: ["; so {line} also reads uninitialised shared memory", "。そのため {line} は初期化されていない共有メモリも読む",
    "；所以 {line} 也读取未初始化的共享内存"],
  between: ["between {a} and {b}", "{a} と {b} の間", "{a} 与 {b} 之间"], within: ["within {a}", "{a} の中", "{a} 之内"],
  pairs: ["{n} more pairs of lines", "ほか {n} 組の行", "另外 {n} 对行"], pair: ["{n} more pair of lines", "ほか {n} 組の行", "另外 {n} 对行"],
  unwritten: ["uninitialised shared memory: {first} {reads} what no thread of the block has written ({who})",
    "初期化されていない共有メモリ: ブロックのどのスレッドも書いていないものを {first} が{reads} ({who})",
    "未初始化的共享内存：{first} {reads}线程块中没有线程写过的内容（{who}）"],
  unfenced: ["{first} {writes} what {second} {reads} asynchronously, without a fence_proxy_async() between ({who})",
    "{first} が{writes}ものを、{second} が非同期に{reads}が、その間に fence_proxy_async() がない ({who})",
    "{first} {writes}之后，{second} 异步{reads}，其间没有 fence_proxy_async() ({who})"],
  "does reads": ["reads", "読む", "读取"], "does writes": ["writes", "書く", "写入"], "does adds to": ["adds to", "加算する", "累加"],
  "does global": ["global", "グローバル", "全局"], "does shared": ["shared", "共有", "共享"],
  asyncRead: ["'s asynchronous read", " の非同期の読み出し", "的异步读取"],
  asyncWrite: ["'s asynchronous write", " の非同期の書き込み", "的异步写入"],
  explanation: ["explanation", "説明", "说明"], eventPair: ["event", "イベント", "事件"],
  captionBack: ["previous explanation", "前の説明", "上一条说明"], captionNext: ["next ▶", "次へ ▶", "下一条 ▶"],
  captionOf: ["{here} of {of}. ", "{here} / {of}. ", "{here} / {of}. "],
  captionCount: ["{n} events of this kernel are explained: press next.", "このカーネルの {n} か所に説明があります。「次へ」を押してください。",
    "这个核函数有 {n} 处说明：请按“下一条”。"],
  conflictHere: [
    "A bank conflict: lanes {conflicting} access different words of bank {bank}, which delivers one a wavefront: {cost} instead of {best}.",
    "バンクコンフリクト: レーン {conflicting} はバンク {bank} の異なるワードを求めるので、順番を待ちます。{best} ではなく {cost} ウェーブフロントかかります。",
    "存储体冲突：通道 {conflicting} 请求存储体 {bank} 中不同的字，所以需要 {cost} 个 wavefront，而不是 {best} 个。"],
  uncoalescedHere: ["Uncoalesced: the lanes' bytes lie in {cost} sectors, where {best} would hold as many.",
    "非コアレス: レーンの求めるバイトは {cost} セクタに散らばっています。この量なら {best} セクタに収まります。",
    "未合并：各通道的字节分散在 {cost} 个扇区中，而这么多字节 {best} 个就能装下。"],
  // panels
  unfold: ["Every event: steps, timeline, warp and lane, counts", "すべてのイベント: ステップ、順序、ワープとレーン、回数",
    "所有事件：单步、顺序、warp 和通道、计数"],
  key: ["Colour: the lane, or the first of several. Frame: lane {lane}. Grey: touched before by this warp.",
    "色: レーン (複数なら最初のもの)。枠: レーン {lane}。灰色: このワープが前に触れた要素。", "颜色：通道（若有多个则为第一个）。框：通道 {lane}。灰色：此 warp 之前触及过。"],
  keyPiece: ["Colour and number: which chunk of 16 bytes of a row of its matrix. Grey: touched before by this warp.",
    "色と数字: 行列の行の中での 16 バイトのチャンクの番号。灰色: このワープが前に触れた要素。", "颜色和数字：是其矩阵行中的第几个 16 字节小块。灰色：此 warp 之前触及过。"],
  keyTurn: [" Number: the wavefront in which the bank delivers it.", " 数字: 何番目のウェーブフロントで、そのバンクが渡すか。", " 数字：其存储体在第几个 wavefront 送出。"],
  keyLane: [" Number: the lane; +: others, too.", " 数字: レーン。+: ほかのレーンも。", " 数字：通道；+：还有其他通道。"],
  source: ["source", "ソースコード", "源代码"],
  touches: ["A, B and C: what the warp touches", "A、B、C: ワープが触れる要素", "A、B、C：warp 所触及的元素"],
  touchesNone: ["A, B and C: none of them at this event", "A、B、C: このイベントでは触れません", "A、B、C：此事件不触及"],
  noneOfThem: ["none of these at this event", "このイベントでは触れません", "此事件不触及它们"],
  sumsProducts: ["The warp's accumulation into C: {done} of {all} products.", "C に対するワープの部分和: 積 {done} / {all}。",
    "warp 在 C 中的部分和：{done} / {all} 次乘积。"],
  sumsLoads: ["The warp's accumulation into C: {done} of {all} {kind}s.", "C に対するワープの部分和: {kind} {done} / {all}。",
    "warp 在 C 中的部分和：{kind} {done} / {all}。"],
  partDone: [" {c} has {done} of {of} values of k.", " {c} には {of} 個の k のうち {done} 個を足しました。", " {c} 已累加 {of} 个 k 中的 {done} 个。"],
  laneColours: ["The colours of lanes 0 to 31; lane {lane} is framed", "レーン 0 から 31 の色。レーン {lane} は枠つき",
    "通道 0 到 31 的颜色；通道 {lane} 带框"],
  sectorsTitle: ["Global memory: {sectors} of 32 bytes, in {lines} of 128", "グローバルメモリ: 32 バイトの {sectors}、128 バイトの {lines}",
    "全局内存：32 字节的 {sectors}，位于 128 字节的 {lines}"],
  askedTwice: ["; requested {count} times, once for each sector of shared memory that a line is copied to",
    "。要求は {count} 回。1 ラインの行き先が共有メモリのセクタをまたぐと、そのつど要求する", "；共请求 {count} 次：一个缓存行去往共享内存的几个扇区，就请求几次"],
  piecesTitle: ["Shared memory: {n} chunks of 16 bytes. The number is the chunk's in 128 bytes of its matrix",
    "共有メモリ: 16 バイトのチャンク {n} 個。数字は行列の 128 バイトの中での番号", "共享内存：{n} 个 16 字节的小块。数字是它在矩阵 128 字节中的编号"],
  soOn: ["and so on, {n} times", "以下同様、{n} 回", "以此类推，共 {n} 次"],
  banksTitle: ["Shared memory, 32 banks of 4 bytes", "共有メモリ、4 バイト幅の 32 バンク", "共享内存，32 个 4 字节的存储体"],
  turnTitle: ["Wavefront {turn} of {of}: {lanes}", "ウェーブフロント {turn} / {of}: {lanes}", "wavefront {turn} / {of}：{lanes}"],
  wordsTitle: ["Shared memory: {wavefronts}, {words} of 4 bytes", "共有メモリ: {wavefronts}、4 バイトの {words}",
    "共享内存：{wavefronts}，4 字节的 {words}"],
  again: [", {n} of them more than once", "、うち {n} ワードは 2 回以上", "，其中 {n} 个不止一次"],
  replay: ["wavefront by wavefront", "1 ウェーブフロントずつ", "逐个 wavefront 播放"], cells: ["a cell shows its", "セルの数字", "格内数字"],
  turn: ["wavefront", "ウェーブフロント", "wavefront"],
  cell: ["word {word}, bank {bank}", "ワード {word}、バンク {bank}", "字 {word}，存储体 {bank}"],
  cellNow: ["now: lanes {lanes}, wavefront {turn}", "いま: レーン {lanes}、ウェーブフロント {turn}", "现在：通道 {lanes}，wavefront {turn}"],
  bank: ["bank", "バンク", "存储体"], piece: ["chunk", "チャンク", "小块"],
  order: ["Every warp's program order.", "各ワープのプログラム順。", "每个 warp 的程序顺序。"],
  orderNote: ["Order, not time: between two barriers any warp may be ahead.", "時刻ではなく順序です。2 つのバリアの間では、どのワープが先に進んでいるか分かりません。",
    "是顺序，不是时间：在两个屏障之间，任何 warp 都可能领先。"],
  stripAlt: ["Program order of {warps}; at warp {warp}, event {at} of {of}", "{warps}のプログラム順。ワープ {warp}、イベント {at} / {of}",
    "{warps}的程序顺序；位于 warp {warp}，事件 {at} / {of}"],
  costlier: ["more than the minimum", "最少より多い", "多于最少"],
  toucher: ["warp {warp}, event {at}: {kind}, line {line}, {lanes}", "ワープ {warp}、イベント {at}: {kind}、{line} 行目、{lanes}",
    "warp {warp}，事件 {at}：{kind}，第 {line} 行，{lanes}"],
  more: ["and {n} more", "ほか {n} 件", "另有 {n} 项"], untouched: ["not touched by this block", "このブロックは触れません", "此线程块不触及"],
  soFar: ["this warp so far", "このワープ、ここまで", "此 warp 至今"], wholeBlock: ["the whole block", "ブロック全体", "整个线程块"],
  counts: ["counts so far, and of the whole block", "ここまでの回数とブロック全体の回数", "至今的计数和整个线程块的计数"],
  times: ["times", "回数", "次数"], cost: ["cost", "コスト", "开销"], best: ["best", "最少", "最少"],
  unitSectors: ["sectors", "セクタ", "扇区"], unitWavefronts: ["wavefronts", "ウェーブフロント", "wavefront"],
  ring: ["mbarriers, TMA and wgmma at this event.", "このイベントでの mbarrier、TMA、wgmma。", "此事件时的 mbarrier、TMA 和 wgmma。"],
  ringNote: ["In the order in which the emulator ran them, one of many that a GPU may take.", "エミュレータが実行した順です。GPU では別の順もありえます。",
    "按模拟器执行的顺序；GPU 上可能是其他顺序。"],
  phaseIs: ["phase {phase}", "フェーズ {phase}", "相位 {phase}"], arrived: ["{n} of {of} arrived", "到着 {n} / {of}", "已到达 {n} / {of}"],
  toCome: ["{n} bytes to come", "残り {n} バイト", "尚缺 {n} 字节"], early: ["{n} bytes early", "{n} バイトが先着", "提前到 {n} 字节"],
  waiting: ["waiting: ", "待機中: ", "等待中："], coming: ["in flight", "転送中", "传送中"],
  boxes: [" ({n} of {of} boxes)", " (ボックス {n} / {of})", "（{n} / {of} 个盒子）"],
  by: ["{n} by {warps}", "{warps} が {n} 個", "{warps} 各 {n} 个"],
  stores: ["stores", "ストア", "存储"], toRead: ["TMA has still to read ", "これから TMA が読む: ", "TMA 尚待读取："],
  buffer: ["stage", "ステージ", "级"], rank: ["rank", "ランク", "rank"], tiles: ["tiles", "タイル", "分块"], underWay: ["in flight", "実行中", "进行中"],
  // controls
  block: ["block", "ブロック", "线程块"], thread: ["thread", "スレッド", "线程"],
  warp: ["warp", "ワープ", "warp"], lane: ["lane", "レーン", "通道"], language: ["Language", "言語", "语言"],
  stepBack: ["step back", "1 つ戻る", "后退一步"], step: ["step", "1 つ進む", "前进一步"], play: ["play", "再生", "播放"], stop: ["stop", "停止", "停止"],
  speed: ["speed of play", "再生の速さ", "播放速度"], aSecond: ["{n} a second", "毎秒 {n}", "每秒 {n}"],
  barrier: ["barrier", "バリア", "屏障"],
  conflict: ["bank conflict", "バンクコンフリクト", "存储体冲突"],
  nextBarrier: ["next barrier", "次のバリア", "下一个屏障"],
  nextUncoalesced: ["next uncoalesced", "次の非コアレス", "下一个未合并"],
  nextConflict: ["next bank conflict", "次のバンクコンフリクト", "下一个存储体冲突"],
  uncoalescedRequest: ["uncoalesced request", "コアレスでないリクエスト", "未合并的访存请求"],
  noneAfter: ["No further {what} in this warp.", "このワープでは、この先に{what}はありません。", "此 warp 之后没有{what}。"],
  noneBefore: ["No earlier {what} in this warp.", "このワープでは、これより前に{what}はありません。", "此 warp 之前没有{what}。"],
  position: ["position in the warp's program order", "ワープのプログラム順での位置", "在 warp 程序顺序中的位置"],
  together: ["both together", "両方を同時に", "两者同步"],
};
const kindName = kind => WORDS["kind " + kind] ? say("kind " + kind) : kind;

// The values that a text in English has at the places of this form, or undefined.
function valuesIn(name, text, kinds = {}) {
  const form = WORDS[name][0].replace(/[().]/g, "\\$&").replace(/\{(\w+)\}/g, (_, each) => `(?<${each}>${kinds[each] || ".+"})`);
  return text.match(`^${form}$`)?.groups;
}

// Of a race: the other lines that the same barrier would order, or a read that it explains.
function consequence(text) {
  const found = valuesIn("explains", text) || valuesIn("alike", text);
  if (!found?.pairs) return found ? say("explains", found) : text;
  const pairs = found.pairs.split(/, | and (?=within|between|\d)/).map(pair => {
    const name = ["between", "within", "pairs", "pair"].find(each => valuesIn(each, pair));
    return name ? say(name, valuesIn(name, pair)) : pair;
  });
  const last = pairs.pop();
  return say("alike", { pairs: pairs.length ? pairs.join(say("comma")) + say("and") + last : last });
}

// The emulator's message about a race, in the reader's language; other problems stay in English.
function problemText(text) {
  const [head, ...others] = text.split(/(?=; (?:the same|so) )/), access = "reads|writes|adds to";
  for (const name of ["raced", "unwritten", "unfenced"]) {
    const found = valuesIn(name, head, { where: "global|shared", reads: access, writes: access });
    if (!found) continue;
    for (const each of ["where", "reads", "writes"]) if (found[each]) found[each] = say("does " + found[each]);
    found.who = ["asyncRead", "asyncWrite"].reduce((who, each) => who.replaceAll(WORDS[each][0], say(each)), found.who)
      .replaceAll(" and ", say("and")).replaceAll(", ", say("comma"))
      .replace(/block(?= [\d(])/g, say("block")).replace(/threads?(?= [\d(])/g, each => language ? say("thread") : each);
    return say(name, found) + others.map(consequence).join("");
  }
  return text;
}
