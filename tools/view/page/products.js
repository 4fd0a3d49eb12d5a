// What tensor cores multiply, and how much of the accumulation is done.

addMethods(View, {
  productAt(event) {
    this.products[this.block] ||= productsOf(this.data, this.block);
    return noteOf(this.data.blocks[this.block].notes, event) && this.products[this.block].get(event.moment - 1);
  },

  // "[0..15][64..71]", the part of C to which a product is added.
  partOf({ rows, columns }) { return `[${rows.join("..")}][${columns.join("..")}]`; },

  // For each part of C that the warp has begun: Map of its name to { rows, columns, done (how many k) }.
  sumsNow() {
    const sums = new Map();
    for (const e of this.events.slice(0, this.index + 1)) {
      const product = (e.kind === "tensor" || e.kind === "wgmma") && this.productAt(e);
      if (!product?.rows) continue;
      const name = this.partOf(product), sum = sums.get(name) || { ...product, done: 0 };
      sum.done += Math.max(0, Math.min(product.ks[1] + 1, this.data.shape[2]) - product.ks[0]);
      sums.set(name, sum);
    }
    return sums;
  },

  // How much of the warp's accumulation is done, by its products, or by the loads nearest to them. Accumulators are
  // shown in C where the warp stores them.
  sums() {
    const stores = this.events.filter(e => e.kind === "global store");
    const kind = ["wgmma", "tensor", "shared load", "global load"].find(each => this.events.some(e => e.kind === each));
    const products = kind === "wgmma" || kind === "tensor";
    if (!kind || !stores.length && !products) return null;
    const count = events => events.filter(e => e.kind === kind).length;
    return { stores, kind, products, done: count(this.events.slice(0, this.index + 1)), all: count(this.events) };
  },
});
