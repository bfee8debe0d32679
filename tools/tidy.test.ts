/**
 * The rules of the house, checked: imports, doors, circles, dead files, banned calls, leftovers,
 * sizes, documents.
 *
 * Rules and their data are in tidy/. Each is run on this checkout, where it finds nothing, and on a
 * small made-up tree, where it must find something: a rule that cannot fail is no rule.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { unboundedInputs } from "./tidy/bound-rules.ts";
import { decisionNumbers, pipelineOrder } from "./tidy/document-rules.ts";
import {
  cycles,
  deadFiles,
  folderArrows,
  forbiddenInTable,
  importsByEntryPoint,
  nodeAndNpm,
  packageArrows,
} from "./tidy/import-rules.ts";
import { readTree } from "./tidy/read-tree.ts";
import { type PackageManifest, SourceTree } from "./tidy/source-tree.ts";
import {
  bannedCalls,
  exportForms,
  fileLengths,
  foldersHaveEntryPoints,
  functionLengths,
  headers,
  packageLengths,
  testsThatDoNotRun,
  unfinishedMarks,
  wideComments,
} from "./tidy/text-rules.ts";
import {
  wordsInExportedNames,
  wordsInSchemas,
  wordsInTexts,
  wordsInTitles,
} from "./tidy/word-rules.ts";

type Rule = (tree: SourceTree) => string[];
type Sources = Readonly<Record<string, string>>;

interface Example {
  /** Paths under packages/, or from the root when they begin with a slash. */
  readonly sources: Sources;
  readonly documents?: Sources;
  /** Each finding matches the pattern at its place. */
  readonly finds: readonly RegExp[];
}

const manifests: readonly PackageManifest[] = [
  { folder: "machinery", exports: { "./*": "./dist/*/index.js" }, dependencies: ["re2js"] },
  {
    folder: "apiserver",
    exports: { ".": "./dist/index.js", "./storage/*": "./dist/storage/*/index.js" },
    dependencies: ["@kcp-ts/machinery", "js-yaml"],
  },
  {
    folder: "controlplane",
    exports: { ".": "./dist/index.js", "./internal": "./dist/internal.js" },
    dependencies: ["commander"],
  },
];

function madeUpTree({ sources, documents = {} }: Omit<Example, "finds">): SourceTree {
  const entries = Object.entries(sources).map(
    ([path, text]) => [path.startsWith("/") ? path.slice(1) : `packages/${path}`, text] as const,
  );
  return new SourceTree({ sources: Object.fromEntries(entries), packages: manifests, documents });
}

/** A door that leads to each of the rooms, so that their files count as what users run. */
function server(...names: readonly string[]): Sources {
  const text = names.map((name) => `export { a } from "./${name}";`).join("\n");
  return { "apiserver/src/index.ts": text };
}

const checkout = await readTree();

function describeRule(
  title: string,
  rule: Rule,
  examples: Readonly<Record<string, Example>>,
): void {
  describe(title, () => {
    it("holds in this checkout", () => {
      assert.deepEqual(rule(checkout), []);
    });
    for (const [name, { finds, ...example }] of Object.entries(examples)) {
      it(name, () => {
        const findings = rule(madeUpTree(example));
        assert.equal(findings.length, finds.length, findings.join("\n") || "nothing was found");
        for (const [index, pattern] of finds.entries())
          assert.match(findings[index] ?? "", pattern);
      });
    }
  });
}

describe("the tree that rules see", () => {
  it("is this checkout", () => {
    assert.ok(checkout.files.has("packages/apiserver/src/pipeline.ts"));
    assert.ok(checkout.files.has("tools/tidy.test.ts"));
    assert.ok(checkout.production().has("packages/machinery/src/base/clock.ts"));
    assert.ok(!checkout.production().has("tools/tidy.test.ts"));
  });
});

describe("inputs of others name their bound", () => {
  it("holds in this checkout", () => {
    assert.deepEqual(unboundedInputs(checkout), []);
  });

  const calls: Readonly<Record<string, string>> = {
    "JSON.parse": "export const a = JSON.parse(text);",
    "the parser below the room":
      'import { parseJson } from "x";\nexport const a = parseJson(text).value;',
    "a YAML reader": "export const a = yaml.load(text);",
    "gathered parts": "export const a = Buffer.concat(parts);",
    "a body that is read whole": "export const a = async () => await answer.body.text();",
    "an answer of fetch that is read whole": "export const a = async () => await response.json();",
    "unpacking without a limit": "export const a = gunzipSync(bytes);",
    "a stream that unpacks": "export const a = createGunzip();",
  };
  for (const [title, code] of Object.entries(calls))
    it(`finds ${title}`, () => {
      const sources = { ...server("door.ts"), "apiserver/src/door.ts": code };
      const findings = unboundedInputs(madeUpTree({ sources }), {});
      assert.equal(findings.length, 1, findings.join("\n"));
      assert.match(
        findings[0] ?? "",
        /^packages\/apiserver\/src\/door\.ts:\d: no .*whose input is it\?/,
      );
    });

  it("lets bounded calls, tests and listed files be, and finds a line that lists nothing", () => {
    const code =
      "export const a = [parseBounded(bounds.token, text), gunzipSync(b, { maxOutputLength: 9 })];";
    const sources = {
      ...server("door.ts", "own.ts"),
      "apiserver/src/door.ts": `${code}\nawait body.text(bounds.token.bytesMax);`,
      "apiserver/src/own.ts": "export const a = JSON.parse(own);",
      "apiserver/src/entry-point.test.ts": "JSON.parse(text);",
    };
    const tree = madeUpTree({ sources });
    assert.deepEqual(unboundedInputs(tree, { "packages/apiserver/src/own.ts": "its own" }), []);
    assert.deepEqual(
      unboundedInputs(tree, { "packages/apiserver/src/": "its own", "packages/sdk/": "none" }),
      ["packages/sdk/: is bounded or gone, drop it from the list"],
    );
  });
});

describeRule("packages import only what their line of the table says", packageArrows, {
  "finds an arrow that is not in the table": {
    sources: {
      "apiserver/src/index.ts": 'import { startControlPlane } from "@kcp-ts/controlplane";',
    },
    finds: [/^packages\/apiserver\/src\/index\.ts:1: apiserver may not import controlplane/],
  },
  "finds a way past a package's doors, and test tools in what users run": {
    sources: {
      "apiserver/src/index.ts":
        'import { a } from "@kcp-ts/machinery/base/clock/x";\nimport { freePorts } from "@kcp-ts/testkit";',
    },
    finds: [/is not a door/, /testkit/],
  },
  "finds what enters an internal door and is neither a test nor the test server": {
    sources: {
      "controlplane/src/internal.ts": "export const a = 1;",
      "cli/src/a.ts": 'import { a } from "@kcp-ts/controlplane/internal";',
      "cli/src/a.test.ts": 'import { a } from "@kcp-ts/controlplane/internal";',
      "testing/src/a.ts": 'import { a } from "@kcp-ts/controlplane/internal";',
      "/tests/integration/b/b.ts": 'import { a } from "@kcp-ts/controlplane/internal";',
    },
    finds: [/^packages\/cli\/src\/a\.ts:1: .* is for the test server and for tests/],
  },
  "lets tests use test tools, and sees through comments and strings": {
    sources: {
      "apiserver/src/index.ts": '// import { a } from "@kcp-ts/cli";\nexport const s = "from";',
      "apiserver/src/a.test.ts": 'import { freePorts } from "@kcp-ts/testkit";',
    },
    finds: [],
  },
});

describeRule("rooms import only what their line of the table says", folderArrows, {
  "finds storage that knows users, a gate that knows storage, and a room nobody listed": {
    sources: {
      ...server("storage/index.ts", "admission/index.ts", "attic/index.ts"),
      "apiserver/src/request/user.ts": "export interface A {}",
      "apiserver/src/storage/index.ts": 'import type { A } from "../request/user.ts";',
      "apiserver/src/admission/index.ts": 'import { a } from "../storage/index.ts";',
      "apiserver/src/attic/index.ts": 'import { a } from "../storage/index.ts";',
    },
    finds: [
      /storage may not import request \(may: event-loop, grpc\)/,
      /admission may not import storage/,
      /attic has no line in roomTable/,
    ],
  },
  "finds tests that lean on other suites": {
    sources: {
      "/tests/conformance/a/a.test.ts": 'import { b } from "../../scenarios/b/index.ts";',
      "/tests/scenarios/b/index.ts": "",
    },
    finds: [/conformance may not import scenarios/],
  },
  "finds a room that imports the wiring above it": {
    sources: {
      ...server("http/index.ts"),
      "apiserver/src/http/index.ts": 'import { pipeline } from "../pipeline.ts";',
      "apiserver/src/pipeline.ts": "export const pipeline = [];",
    },
    finds: [/may not import packages\/apiserver\/src\/pipeline\.ts, which is wiring/],
  },
});

describe("the import tables", () => {
  it("cannot allow what the invariants exclude", () => {
    const findings = forbiddenInTable(
      {
        controllers: { packages: ["apiserver"], node: [] },
        sdk: { packages: ["testkit"], node: [] },
      },
      { apiserver: { storage: ["request"], authorization: ["storage"], handlers: ["http"] } },
    );
    assert.deepEqual(
      findings.map((finding) => finding.split(", but ")[1]?.split(":")[0]),
      [
        "controllers know no server",
        "what users run does not contain test tools",
        "storage knows no users",
        "gates know no storage and no HTTP",
        "nothing but http/ knows HTTP",
      ],
    );
  });
});

describeRule("other rooms are entered by their doors", importsByEntryPoint, {
  "finds a side entrance, also from a test and into a room in a room": {
    sources: {
      "apiserver/src/routing/a.ts": 'import { b } from "../content/json.ts";',
      "apiserver/src/storage/feed.test.ts": 'import { c } from "./memory/memory-storage.ts";',
      "apiserver/src/content/json.ts": "",
      "apiserver/src/content/ok.ts": 'import { d } from "./json.ts";',
    },
    finds: [
      /import packages\/apiserver\/src\/content\/index\.ts instead of json\.ts/,
      /storage\/memory/,
    ],
  },
});

describeRule("Node and npm stay where they belong", nodeAndNpm, {
  "finds Node in machinery, sockets outside http/, and undeclared packages": {
    sources: {
      ...server("handlers/index.ts", "http/index.ts"),
      "machinery/src/base/index.ts": 'import { a } from "node:fs";\nimport b from "left-pad";',
      "apiserver/src/handlers/index.ts": 'import { createServer } from "node:http2";',
      "apiserver/src/http/index.ts":
        'import { c } from "node:http2";\nimport { d } from "lodash/fp";',
    },
    finds: [
      /machinery\/base runs without Node: no node:fs/,
      /machinery may not import left-pad \(may: re2js\)/,
      /nothing else knows sockets/,
      /apiserver may not import lodash/,
    ],
  },
});

describeRule("no imports go in circles", cycles, {
  "finds a circle of values through a door, and lets types and lazy imports be": {
    sources: {
      "apiserver/src/a.ts": 'import { b } from "./b.ts";',
      "apiserver/src/b.ts": 'export { c } from "./c/index.ts";',
      "apiserver/src/c/index.ts": 'import { a } from "../a.ts";',
      "apiserver/src/d.ts": 'import { e } from "./e.ts";',
      "apiserver/src/e.ts": 'import type { D } from "./d.ts";\nconst d = await import("./d.ts");',
    },
    finds: [/src\/a\.ts -> .*src\/b\.ts -> .*c\/index\.ts -> packages\/apiserver\/src\/a\.ts$/],
  },
});

describeRule("every file is used", deadFiles, {
  "finds a file that nothing leads to": {
    sources: {
      "apiserver/src/index.ts": 'export { a } from "./a.ts";',
      "apiserver/src/a.ts": "",
      "apiserver/src/b.test.ts": 'import "./c.ts"; new URL("./program.js", import.meta.url);',
      "apiserver/src/c.ts": "",
      "apiserver/src/program.ts": "",
      "apiserver/src/forgotten.ts": 'import { a } from "./a.ts";',
    },
    finds: [/^packages\/apiserver\/src\/forgotten\.ts/],
  },
  "knows programs that are started by a name that is put together": {
    sources: {
      "apiserver/src/a.test.ts": 'import { start } from "./start.ts"; start("worker");',
      "apiserver/src/start.ts": "new URL(`./${name}.js`, import.meta.url);",
      "apiserver/src/worker.ts": "",
      "apiserver/src/idler.ts": "",
    },
    finds: [/^packages\/apiserver\/src\/idler\.ts/],
  },
});

describeRule("calls that have a better way are not made", bannedCalls, {
  "finds each of them and names the better way": {
    sources: {
      "apiserver/src/index.ts":
        'export const a = [Date.now(), Math.random(), setTimeout(f, 1), console.log("x"), new Date()];\n' +
        'process.exit(1); eval("1"); new Function("return 1"); a instanceof Promise;',
    },
    finds: [
      /no Date\.now: take a Clock/,
      /no new Date\(\)/,
      /no Math\.random: take a Random/,
      /no setTimeout: .*schedule/,
      /no console\.log/,
      /no new Function/,
      /no eval/,
      /no process\.exit/,
      /no instanceof Promise: async/,
    ],
  },
  "leaves alone the clock itself, comments, strings and what tests do": {
    sources: {
      "machinery/src/base/index.ts": "export const now = () => Date.now();",
      "apiserver/src/index.ts":
        '/** Not Date.now. */\nexport const a = "Date.now()" + `${b}Date.now`;',
      "apiserver/src/a.test.ts": "setTimeout(f, 1);",
    },
    finds: [],
  },
});

const leftover = ["FIX", "ME"].join("");

const wide = "a long sentence ".repeat(8);

describeRule("comments are wrapped at 100 columns", wideComments, {
  "finds a wide line of each kind of comment": {
    sources: {
      "apiserver/src/a.ts": `/** ${wide}*/\n/**\n * ${wide}\n */\n// ${wide}\nexport const a = 1;\n`,
    },
    finds: [/a\.ts:1: wrap/, /a\.ts:3: wrap/, /a\.ts:5: wrap/],
  },
  "accepts code, texts, diagrams and directives": {
    sources: {
      "apiserver/src/a.ts": `/**\n *     ${wide}\n */\n// biome-ignore lint: ${wide}\nexport const a = "// ${wide}";\n`,
    },
    finds: [],
  },
});

describeRule("nothing is left to be done later", unfinishedMarks, {
  "finds a note to oneself in a comment": {
    sources: { "apiserver/src/a.ts": `\n// ${leftover}: later` },
    finds: [/^packages\/apiserver\/src\/a\.ts:2: a leftover/],
  },
});

const only = ["it", "only"].join(".");

describeRule("every test runs", testsThatDoNotRun, {
  "finds a test that runs alone or not at all; a skip with a reason is fine": {
    sources: {
      "apiserver/src/a.test.ts": `${only}("a", f);\nit("b", { ${"skip"}: true }, f);\nit("c", { skip: missing }, f);`,
    },
    finds: [/a\.test\.ts:1:/, /a\.test\.ts:2:/],
  },
});

describeRule("exports are named, one by one", exportForms, {
  "finds default exports and stars": {
    sources: { "apiserver/src/a.ts": 'export default 1;\nexport * from "./b.ts";' },
    finds: [/a\.ts:1: export default/, /a\.ts:2: export \*/],
  },
  "finds stars in a package's entry point, but for those of other entry points": {
    sources: {
      "sdk/src/index.ts":
        'export * from "./client/index.ts";\nexport * from "@kcp-ts/pki";\nexport * from "./a.ts";',
    },
    finds: [/index\.ts:3: export \*/],
  },
  "passes on what is generated for a room": {
    sources: {
      "machinery/src/shape/index.ts":
        'export * from "./generated/index.ts";\nexport * from "./other/index.ts";',
    },
    finds: [/index\.ts:2: export \*/],
  },
});

const longBody = (lines: number) => "  work();\n".repeat(lines);

describeRule("functions are short", (tree) => functionLengths(tree, ratchetFor(tree)), {
  "finds a function, a method and an arrow of 71 lines, not those of 70": {
    sources: {
      "apiserver/src/a.ts":
        `export function long(\n  a: { b: string },\n): void {\n${longBody(67)}}\n` +
        `function fits() {\n${longBody(68)}}\n` +
        `class C {\n  async *#method<T>(a: T) {\n${longBody(69)}  }\n}\n` +
        `const arrow = () => {\n${longBody(69)}};\n` +
        `if (a) {\n${longBody(90)}}\n`,
    },
    finds: [/a\.ts long: 71 lines/, /a\.ts #method: 71 lines/, /a\.ts arrow: 71 lines/],
  },
});

/** The real ratchet speaks of files that a made-up tree does not have. */
function ratchetFor(tree: SourceTree): Record<string, number> | undefined {
  return tree === checkout ? undefined : {};
}

describe("a ratchet", () => {
  const sources = { "apiserver/src/a.ts": `function long() {\n${longBody(98)}}\n` };
  const tree = madeUpTree({ sources });
  const name = "packages/apiserver/src/a.ts long";

  it("allows what is on its list, and no line more", () => {
    assert.deepEqual(functionLengths(tree, { [name]: 100 }), []);
    assert.match(functionLengths(tree, { [name]: 99 }).join(), /100 lines, at most 99/);
  });

  it("asks to be tightened when something got shorter", () => {
    assert.match(functionLengths(tree, { [name]: 101 }).join(), /lower its ratchet/);
    assert.match(functionLengths(tree, { [name]: 100, gone: 80 }).join(), /gone: .*drop it/);
  });
});

describeRule("files are short", (tree) => fileLengths(tree, ratchetFor(tree)), {
  "finds 801 lines, not 800": {
    sources: { "apiserver/src/a.ts": "\n".repeat(801), "apiserver/src/b.ts": "\n".repeat(800) },
    finds: [/a\.ts: 801 lines/],
  },
});

const wiringOf = (lines: number): Sources => ({
  "controlplane/src/index.ts": `export { a } from "./a.ts";${"\n".repeat(lines)}`,
  "controlplane/src/a.ts": "\n".repeat(100),
  "controlplane/src/a.test.ts": "\n".repeat(9000),
});

describeRule("wiring stays small", packageLengths, {
  "finds a composition root of 3,001 lines, tests left out": {
    sources: wiringOf(2901),
    finds: [/^packages\/controlplane: 3001 lines, at most 3000/],
  },
  "lets 3,000 be": { sources: wiringOf(2900), finds: [] },
});

describeRule("every room has a door", foldersHaveEntryPoints, {
  "finds a room without index.ts": {
    sources: { ...server("attic/a.ts"), "apiserver/src/attic/a.ts": "export const a = 1;" },
    finds: [/src\/attic: a room has a door/],
  },
});

describeRule("files of some length say what they are", headers, {
  "finds one that does not": {
    sources: {
      ...server("a.ts", "b.ts"),
      "apiserver/src/a.ts": `export const a = 1;${"\n".repeat(80)}`,
      "apiserver/src/b.ts": `/** Says it. */\nexport const a = 1;${"\n".repeat(80)}`,
    },
    finds: [/src\/a\.ts: begins without a comment/],
  },
});

describeRule("exported names are words of the field", wordsInExportedNames, {
  "finds a word in each kind of declaration, at each place of a name, and in an alias": {
    sources: {
      "apiserver/src/a.ts":
        "export interface PodDoor {}\nexport const wholeSets = 1;\nexport async function tellAll() {}\n" +
        'export {\n  b,\n  c as StandingOf,\n} from "./b.ts";',
    },
    finds: [
      /a\.ts:1: "PodDoor" says "door", write entry point/,
      /a\.ts:2: "wholeSets" says "whole", write workload/,
      /a\.ts:3: "tellAll" says "tell", write notify/,
      /a\.ts:6: "StandingOf" says "standing", write cluster state/,
    ],
  },
  "lets longer words, local names, comments and strings be": {
    sources: {
      "apiserver/src/a.ts":
        '/** The door of the fleet. */\nexport const outdoors = "fleet";\nconst fleet = 1;\nexport const wholesale = fleet;',
    },
    finds: [],
  },
});

describeRule("schemas and reasons are words of the field", wordsInSchemas, {
  "finds a field of a schema and a reason, not the same word elsewhere": {
    sources: {
      ...server("a.ts", "b.ts", "c.ts"),
      "apiserver/src/a.ts":
        'import { bool, object } from "@kcp-ts/machinery/schema";\n' +
        "export const a = object({ bounds: limits, unbounded: b, isLent: bool() });",
      "apiserver/src/b.ts":
        'export const a = { bounds: 1, reason: "NowhereToGo", message: "Split it" };',
      "apiserver/src/c.ts":
        'import {\n  kindSchema,\n} from "../machinery/schema/schema-builders.ts";\n' +
        "export const c = kindSchema({ evictAfter: time() });",
      "apiserver/src/b.test.ts": 'const reason = "NowhereToGo";',
    },
    finds: [
      /a\.ts:2: "bounds", write resourceLimits/,
      /a\.ts:2: "isLent" says "lent", write serves/,
      /b\.ts:1: "NowhereToGo", write NoFeasibleCluster/,
      /c\.ts:4: "evictAfter", write unschedulable and drain/,
    ],
  },
});

describeRule("texts for users are in words of the field", wordsInTexts, {
  "finds a word in a sentence, not in names, comments, tests and tools": {
    sources: {
      ...server("a.ts"),
      "apiserver/src/a.ts":
        '/** Let strangers in. */\nexport const nobody = ["stranger", "StrangerDanger is a name"];\n' +
        'export const a = command.option("--anonymous", "let strangers see health");\n' +
        "export const b = `${nobody} lends\n  it`;",
      "apiserver/src/a.test.ts": 'const title = "for nobody else";',
      "/tools/a.ts": 'const title = "for nobody else";',
    },
    finds: [
      /a\.ts:3: .* says "strangers", write unauthenticated clients/,
      /a\.ts:4: .* says "lends", write serves/,
    ],
  },
});

describeRule("titles of tests are in words of the field", wordsInTitles, {
  "finds words and phrases in titles": {
    sources: {
      "apiserver/src/a.test.ts":
        'describe("a Fleet of clusters", () => {\n  it(`is written in pieces`, () => {});\n' +
        '  it.skip("is its own door", () => {});\n  const title = "nobody";\n});',
    },
    finds: [
      /a\.test\.ts:1: .* says "fleet", write clusters/,
      /a\.test\.ts:2: .* says "in pieces", write resumable/,
    ],
  },
});

/** A decision as it begins. */
function decision(title: string, status = "accepted"): string {
  return `# ${title}\n\nDate: 2026-01-02. Status: ${status}.\n`;
}

describeRule("decisions are numbered without holes, and listed in their index", decisionNumbers, {
  "finds a number that is used twice, and a file without one": {
    sources: {},
    documents: {
      "docs/adr/README.md": "\n- [0001 A](0001-a.md)\n- [0001 B](0001-b.md)\n",
      "docs/adr/0001-a.md": decision("0001 A"),
      "docs/adr/0001-b.md": decision("0001 B"),
      "docs/adr/notes.md": "",
    },
    finds: [/0001-b\.md: number 0001 is taken/, /notes\.md/],
  },
  "finds a hole": {
    sources: {},
    documents: {
      "docs/adr/README.md": "\n- [0001 A](0001-a.md)\n- [0003 C](0003-c.md)\n",
      "docs/adr/0001-a.md": decision("0001 A"),
      "docs/adr/0003-c.md": decision("0003 C"),
    },
    finds: [/number 0002 is missing below 0003/],
  },
  "finds a decision that the index lacks, or lists by another title": {
    sources: {},
    documents: {
      "docs/adr/README.md": "\n- [0001 Else](0001-a.md)\n",
      "docs/adr/0001-a.md": decision("0001 A"),
      "docs/adr/0002-b.md": decision("0002 B"),
    },
    finds: [/does not list \[0001 A\]/, /does not list \[0002 B\]/],
  },
  "finds a superseded decision that the index does not mark, and a heading with another number": {
    sources: {},
    documents: {
      "docs/adr/README.md":
        "\n- [0001 A](0001-a.md)\n- [0002\n  B](0002-b.md); superseded in part by 0003\n",
      "docs/adr/0001-a.md": decision("0001 A", "accepted; superseded by 0003"),
      "docs/adr/0002-b.md": decision("0002 B", "accepted; superseded in part\nby 0003"),
      "docs/adr/0003-c.md": decision("0004 C"),
    },
    finds: [/does not say that 0001-a\.md is superseded/, /0003-c\.md: begins with "# 0003 Title"/],
  },
});

const pipeline = 'export const pipeline: Stage[] = [\n  ["route", f],\n  ["authorize", g],\n];\n';

describeRule("ARCHITECTURE.md tells the pipeline in running order", pipelineOrder, {
  "finds another order": {
    sources: { "apiserver/src/pipeline.ts": pipeline },
    documents: { "ARCHITECTURE.md": "First `authorize`, then `route`." },
    finds: [/running order: route, authorize/],
  },
  "accepts the right one": {
    sources: { "apiserver/src/pipeline.ts": pipeline },
    documents: { "ARCHITECTURE.md": "1. **route**\n2. **authorize**" },
    finds: [],
  },
});
