import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { describe, it } from "node:test";
import { cliPagePath } from "./cli-reference.ts";
import { type DeclarationSource, declarationsOf, declaredIn } from "./declarations.ts";
import { kindsPagePath } from "./kinds-reference.ts";
import { metricsPagePath } from "./metrics.ts";
import { page, referencePages } from "./reference.ts";

describe("the API reference", () => {
  it("is what the code says", async () => {
    const pages = await referencePages();
    for (const [path, text] of pages) {
      const written = await readFile(path, "utf8");
      assert.ok(written === text, `${path} is not what the code says: run npm run docs`);
    }
    const files = (await readdir("docs/reference")).map((name) => `docs/reference/${name}`);
    const others = [cliPagePath, kindsPagePath, metricsPagePath];
    assert.deepEqual(files.sort(), [...pages.keys(), ...others].sort());
  });
});

describe("declarations", () => {
  const text = `
/** Adds. */
export declare function add(a: number, b?: { c: string; }): number;
export declare function add(a: string): string;
/**
 * A thing
 * of two lines.
 */
export interface Thing {
    /** With a ; and a } in it. */
    readonly a: "}";
}
export declare class Box<T> {
    #private;
    constructor(thing: T);
    get(): T;
}
export declare const limit = 3;
export type Addition = typeof add;
declare const thing: import("door").Schema<{
    readonly a?: string;
}>;
export type Inferred = TypeOf<typeof thing>;
`;
  const only = (name: string) => declaredIn(text, name);

  it("are found with their comments, to their ends", () => {
    assert.deepEqual(only("Thing"), [
      {
        name: "Thing",
        kind: "interface",
        comment: "A thing\nof two lines.",
        text: 'interface Thing {\n    /** With a ; and a } in it. */\n    readonly a: "}";\n}',
      },
    ]);
    assert.equal(only("limit")[0]?.text, "const limit = 3;");
    assert.deepEqual(
      only("add").map(({ comment }) => comment),
      ["Adds.", ""],
    );
    assert.equal(only("Add").length, 0);
  });

  it("show a type that is inferred from a schema by its members", () => {
    assert.equal(only("Inferred")[0]?.text, "type Inferred = {\n    readonly a?: string;\n};");
  });

  it("leave out what is private", () => {
    assert.doesNotMatch(only("Box")[0]?.text ?? "", /private/);
  });

  it("are followed through doors and other names", async () => {
    const files = new Map([
      ["door.d.ts", 'export { type Thing, sum as add } from "./room.js";'],
      ["room.d.ts", 'export { type Thing, add as sum } from "./file.js";'],
      ["file.d.ts", text],
    ]);
    const source: DeclarationSource = {
      read: async (path) => files.get(path) ?? "",
      resolve: (_from, specifier) => specifier.replace("./", "").replace(".js", ".d.ts"),
    };
    const found = await declarationsOf("door.d.ts", source);
    assert.deepEqual(
      found.map(({ name }) => name),
      ["add", "add", "Thing"],
    );
    assert.equal(page("x", found).match(/^## /gm)?.length, 2);
    files.set("door.d.ts", 'export * from "./room.js";');
    assert.deepEqual(
      (await declarationsOf("door.d.ts", source)).map(({ name }) => name),
      ["sum", "sum", "Thing"],
    );
    files.set("door.d.ts", 'export { type Thing } from "./room.js";');
    files.set("room.d.ts", "");
    await assert.rejects(declarationsOf("door.d.ts", source), /room\.d\.ts does not export Thing/);
  });
});
