/**
 * The published package, installed in a project of its own outside this checkout: it runs, its
 * types compile, its command answers.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, describe, it } from "node:test";
import {
  filesOfExports,
  neededDeclarations,
  withoutComments,
  withPaths,
} from "./package-declarations.ts";
import { writePackage } from "./package-files.ts";

let project = "";

function run(args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((done) => {
    execFile(
      process.execPath,
      args,
      { timeout: 180_000, cwd: project },
      (error, stdout, stderr) => {
        done({ code: error === null ? 0 : Number(error.code ?? -1), stdout, stderr });
      },
    );
  });
}

describe("the published package", () => {
  before(async () => {
    project = await mkdtemp(join(tmpdir(), "kcp-ts-user-"));
    const modules = join(project, "node_modules");
    await mkdir(join(modules, "@types"), { recursive: true });
    await writePackage({ folder: join(modules, "kcp-ts") });
    // What npm would install beside it, and what the user's own project has.
    const links = [
      "classic-level",
      "abstract-level",
      "module-error",
      "@types/node",
      "undici-types",
    ];
    for (const name of links) {
      await symlink(resolve("node_modules", name), join(modules, name)).catch(ignoreMissing);
    }
    await writeFile(join(project, "package.json"), '{ "type": "module" }');
    await writeFile(join(project, "tsconfig.json"), JSON.stringify(config));
    await writeFile(join(project, "main.ts"), program);
  });
  after(() => rm(project, { recursive: true, force: true }));

  it("compiles and runs in a user's project", async () => {
    const compiled = await run([resolve("node_modules/typescript/bin/tsc"), "-p", "."]);
    assert.equal(compiled.stdout, "");
    const { stdout, stderr, code } = await run(["main.js"]);
    assert.equal(stderr, "");
    assert.equal(stdout, "found function\nread 201\n");
    assert.equal(code, 0);
  });

  it("has the command, by the name of the package as well", async () => {
    for (const name of ["kcp", "kcp-ts"]) {
      const bin = join("node_modules", "kcp-ts", "bin", `${name}.mjs`);
      const { stdout } = await run([bin, "--version"]);
      assert.equal(stdout.trim(), "0.1.0", name);
    }
  });

  it("has the plug-ins of kubectl", async () => {
    for (const name of ["kubectl-ws", "kubectl-create-workspace", "kubectl-kcp"]) {
      const { stdout, code } = await run([
        join("node_modules", "kcp-ts", "bin", `${name}.mjs`),
        "--help",
      ]);
      assert.equal(code, 0, name);
      assert.match(stdout, /Usage: /, name);
    }
  });

  it("needs nothing from npm but what has native parts", async () => {
    const text = await readFile(join(project, "node_modules/kcp-ts/package.json"), "utf8");
    const { dependencies, optionalDependencies, peerDependencies } = JSON.parse(text) as Record<
      string,
      object
    >;
    assert.deepEqual(Object.keys(dependencies ?? {}), ["classic-level"]);
    assert.equal(optionalDependencies, undefined);
    assert.deepEqual(peerDependencies, { "@types/node": ">=20" });
  });
});

describe("declarations of the published package", () => {
  it("lead to each other by paths", () => {
    const text = 'import { a } from "./b.ts";\nlet c: import("@kcp-ts/machinery/base").Clock;\n';
    assert.equal(
      withPaths(text, "types/sdk/client/client.d.ts"),
      'import { a } from "./b.js";\nlet c: import("../../machinery/base/index.js").Clock;\n',
    );
    assert.equal(withPaths('from "@kcp-ts/sdk"', "types/kcp-ts/x.d.ts"), 'from "../sdk/index.js"');
    assert.equal(withPaths('from "node:net"', "types/kcp-ts/x.d.ts"), 'from "node:net"');
  });
});

describe("files of the published declarations", () => {
  it("are those that give an exported name its type, through whatever index", () => {
    const texts = new Map([
      ["types/door.d.ts", 'export { A } from "./a/index.js";\nexport * from "./f.js";\n'],
      ["types/a/index.d.ts", 'export { A, type B } from "./a.js";\nexport { C } from "./c.js";\n'],
      [
        "types/a/a.d.ts",
        'import type { D as X } from "../d/index.js";\nexport interface A {\n b: import("../g.js").G<X>;\n}\n',
      ],
      ["types/a/c.d.ts", "export declare const C: 1;\n"],
      ["types/d/index.d.ts", 'export { D } from "./d.js";\nexport { E } from "./e.js";\n'],
      ["types/d/d.d.ts", "export interface D {}\n"],
      ["types/d/e.d.ts", "export interface E {}\n"],
      ["types/f.d.ts", "export declare const f: 1, F: 2;\n"],
      ["types/g.d.ts", "export type G<T> = T;\n"],
    ]);
    const needed = neededDeclarations(texts, ["types/door.d.ts"]);
    assert.deepEqual(
      [...needed.keys()].sort(),
      ["a/a", "a/index", "d/d", "d/index", "door", "f", "g"].map((name) => `types/${name}.d.ts`),
    );
    assert.equal(needed.get("types/a/index.d.ts"), 'export { A } from "./a.js";\n');
    assert.equal(needed.get("types/d/index.d.ts"), 'export { D } from "./d.js";\n');
    assert.equal(needed.get("types/door.d.ts"), texts.get("types/door.d.ts"));
  });
});

describe("comments of the published declarations", () => {
  it("are those of what the doors export", () => {
    const texts = new Map([
      ["types/door.d.ts", 'export { B as A } from "./b.js";\nexport * from "./c/index.js";\n'],
      ["types/b.d.ts", 'import type { D } from "./d.js";\nexport interface B {\n d: D;\n}\n'],
      ["types/c/index.d.ts", 'export { type E, f } from "../e.js";\n'],
      ["types/d.d.ts", "export interface D {}\n"],
      ["types/e.d.ts", "export declare class E {}\n"],
    ]);
    const files = filesOfExports(texts, ["types/door.d.ts"]);
    assert.deepEqual([...files].sort(), ["types/b.d.ts", "types/e.d.ts"]);
  });

  it("are left out of the others without changing what they declare", () => {
    const text = "/** One. */\nexport interface D {\n    /**\n     * Two.\n     */\n    a: 1;\n}\n";
    assert.equal(withoutComments(text), "export interface D {\n    a: 1;\n}\n");
  });
});

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== "ENOENT") throw error;
}

const config = {
  compilerOptions: {
    target: "ES2023",
    lib: ["ES2023"],
    module: "NodeNext",
    strict: true,
    types: ["node"],
  },
  files: ["main.ts"],
};

const program = `
import { controlPlaneDefaults } from "kcp-ts";
import { findCondition } from "kcp-ts/sdk";
import { namespaces } from "kcp-ts/kinds";
import { simpleResource } from "kcp-ts/apiserver";
import { startTestControlPlane } from "kcp-ts/testing";

const k = await startTestControlPlane();
await k.client.resource(namespaces).create({ metadata: { name: "a" } });
const found = await k.client.resource(namespaces).get({ name: "a" });
const phase: string | undefined = found.status?.phase;
console.log(phase === "Active" && findCondition(found.status?.conditions, "Bad") === undefined && controlPlaneDefaults.securePort === 6443 ? "found" : "lost", typeof simpleResource);
const { status } = await k.client.transport.send({
  method: "POST",
  path: "/clusters/a/api/v1/namespaces/default/configmaps",
  headers: { "content-type": "application/yaml" },
  body: "metadata: {name: long}\\n" + "# and so on\\n".repeat(1000),
});
console.log("read", status);
await k.close();
`;
