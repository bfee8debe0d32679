import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { captionOf, type StoreMedium } from "./workspace-caption.ts";
import { workspacePlot } from "./workspace-plot.ts";

const samples = [
  { workspaces: 0, megabytes: 80, perSecond: 0 },
  { workspaces: 500, megabytes: 150, perSecond: 600 },
  { workspaces: 1000, megabytes: 160, perSecond: 550 },
];

describe("the plot of workspaces", () => {
  it("that is committed says what a run says of itself, and has as many samples", () => {
    const path = new URL("../../../docs/internals/workspaces.svg", import.meta.url);
    const svg = readFileSync(path, "utf8");
    const caption = /<text class="caption"[^>]*>([^<]*)</.exec(svg)?.[1] ?? "";
    const form = /^([\d,]+) workspaces .*, (\d+) writers, (store [^,]+), Node (v[\d.]+), ([\d-]+)$/;
    const [, count = "", writers, store, nodeVersion = "", day = ""] = form.exec(caption) ?? [];
    const workspaces = Number(count.replaceAll(",", ""));
    const run = { workspaces, writers: Number(writers), store: store as StoreMedium };
    assert.equal(caption, captionOf({ ...run, nodeVersion, day }));
    assert.ok(["store in memory-backed files", "store on a disk"].includes(store ?? ""), store);
    assert.ok(svg.includes(`aria-label="${caption}"`));
    const points = /class="rate" points="([^"]+)"/.exec(svg)?.[1]?.split(" ") ?? [];
    assert.equal(points.length, 101);
  });

  it("has a point in each panel for every sample, within the picture", () => {
    const svg = workspacePlot(samples, { caption: "a run" });
    const [, , viewWidth, viewHeight] = (/viewBox="([^"]+)"/.exec(svg)?.[1] ?? "")
      .split(" ")
      .map(Number);
    const lines = [...svg.matchAll(/<polyline class="(\w+)" points="([^"]+)"/g)];
    assert.deepEqual(
      lines.map(([, name]) => name),
      ["memory", "rate"],
    );
    for (const [, , points] of lines) {
      const pairs = (points ?? "").split(" ").map((pair) => pair.split(",").map(Number));
      assert.equal(pairs.length, samples.length);
      for (const [x = -1, y = -1] of pairs) {
        assert.ok(x >= 0 && x <= (viewWidth ?? 0), `x ${x}`);
        assert.ok(y >= 0 && y <= (viewHeight ?? 0), `y ${y}`);
      }
      const xs = pairs.map(([x = 0]) => x);
      assert.deepEqual(
        xs,
        [...xs].sort((a, b) => a - b),
      );
    }
  });

  it("draws more memory higher up, from zero on", () => {
    const svg = workspacePlot(samples, { caption: "" });
    const points = /class="memory" points="([^"]+)"/.exec(svg)?.[1]?.split(" ") ?? [];
    const [first = 0, second = 0, third = 0] = points.map((pair) => Number(pair.split(",")[1]));
    assert.ok(first > second && second > third);
    assert.ok(svg.includes(">0</text>") && svg.includes(">200</text>"));
  });

  it("is the same for the same samples, and takes none", () => {
    assert.equal(
      workspacePlot(samples, { caption: "x" }),
      workspacePlot(samples, { caption: "x" }),
    );
    assert.match(workspacePlot([], { caption: "" }), /^<svg [\s\S]*<\/svg>\n$/);
  });

  it("keeps what a caption says out of its own structure, and has colours for dark paper", () => {
    const svg = workspacePlot(samples, { caption: '<a> & "b"' });
    assert.ok(!svg.includes("<a>") && svg.includes("&#60;a&#62; &#38; &#34;b&#34;"));
    assert.ok(svg.includes("prefers-color-scheme:dark"));
  });
});
