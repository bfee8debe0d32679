/**
 * What a new user does: installs the packed package into an empty project, copies a program from a
 * guide, compiles it with every strict setting on, and runs it. It has to work at the first try.
 */
import assert from "node:assert/strict";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { writePackage } from "./package-files.ts";

const exec = promisify(execFile);
let folder = "";
let tarball = "";
const children: ChildProcess[] = [];

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "kcp-ts-first-"));
  await writePackage({ folder: join(folder, "package") });
  const { stdout } = await exec("npm", ["pack", "--silent"], { cwd: join(folder, "package") });
  tarball = join(folder, "package", stdout.trim().split("\n").at(-1) ?? "");
  await exec("tar", ["-xzf", tarball, "-C", folder, "--one-top-level=unpacked"]);
});
after(async () => {
  for (const child of children) child.kill("SIGKILL");
  await rm(folder, { recursive: true, force: true });
});

/** An own project with the unpacked tarball and what npm would install beside it. */
async function project(name: string, program: string): Promise<string> {
  const place = join(folder, name);
  const modules = join(place, "node_modules");
  await mkdir(join(modules, "@types"), { recursive: true });
  await symlink(join(folder, "unpacked", "package"), join(modules, "kcp-ts"));
  for (const one of ["classic-level", "abstract-level", "module-error", "@types/node"]) {
    await symlink(resolve("node_modules", one), join(modules, one));
  }
  await symlink(resolve("node_modules/undici-types"), join(modules, "undici-types"));
  await writeFile(join(place, "package.json"), '{ "type": "module" }');
  await writeFile(join(place, "tsconfig.json"), JSON.stringify(strictest));
  await writeFile(join(place, "main.ts"), program);
  const tsc = resolve("node_modules/typescript/bin/tsc");
  const compiled = await exec(process.execPath, [tsc, "-p", "."], { cwd: place }).catch(
    (error: { stdout: string }) => error,
  );
  // Declarations of Node itself do not pass these settings.
  const errors = compiled.stdout
    .split("\n")
    .filter((line) => /error TS/.test(line) && !/@types\/node/.test(line));
  assert.deepEqual(errors, []);
  return place;
}

const strictest = {
  compilerOptions: {
    target: "ES2023",
    lib: ["ES2023"],
    module: "NodeNext",
    types: ["node"],
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    noPropertyAccessFromIndexSignature: true,
    noImplicitOverride: true,
    noImplicitReturns: true,
    noFallthroughCasesInSwitch: true,
    noUnusedLocals: true,
    noUnusedParameters: true,
    verbatimModuleSyntax: true,
    isolatedModules: true,
    skipLibCheck: false,
  },
  files: ["main.ts"],
};

/** The first block of code below a heading of a guide. */
async function programOf(guide: string, heading: string): Promise<string> {
  const text = await readFile(`docs/guides/${guide}.md`, "utf8");
  const section = text.slice(text.indexOf(`\n## ${heading}\n`));
  const [, program] = /```(?:ts|text)\n(.*?)```/s.exec(section) ?? [];
  assert.ok(program !== undefined, `${guide} has no program below ${heading}`);
  return program;
}

/** Resolves with the output when it contains the text. */
function said(child: ChildProcess, text: RegExp): Promise<string> {
  return new Promise((done, fail) => {
    let all = "";
    const take = (chunk: Buffer) => {
      all += chunk.toString("utf8");
      if (text.test(all)) done(all);
    };
    child.stdout?.on("data", take);
    child.stderr?.on("data", take);
    child.once("exit", (code) => fail(new Error(`it ended with ${code}: ${all}`)));
  });
}

function start(args: readonly string[], env: Readonly<Record<string, string>>): ChildProcess {
  const child = spawn(process.execPath, args, { env: { ...process.env, ...env } });
  children.push(child);
  return child;
}

const prepare = `
import { configMaps } from "kcp-ts/kinds";
import { connectDefault, defineResource } from "kcp-ts/sdk";
import { defineKind, bool, object, string } from "kcp-ts/schema";
import { customResourceDefinitions } from "kcp-ts/kinds";
const { client, close } = await connectDefault();
const websites = defineKind({
  group: "example.com", version: "v1", kind: "Website",
  spec: object({ title: string() }, { required: ["title"] }),
  status: object({ ready: bool() }),
});
const at = { name: "hello", namespace: "default" };
if (process.argv[2] === "create") {
  await client.resource(defineResource(customResourceDefinitions)).apply(websites.definition, { fieldManager: "test" });
  for (;;) {
    const made = await client.resource(websites).create({ metadata: at, spec: { title: "Hello" } }).catch(() => undefined);
    if (made !== undefined) break;
    await new Promise((done) => setTimeout(done, 50));
  }
} else {
  for (;;) {
    const site = await client.resource(websites).get(at);
    if (site.status?.ready) break;
    await new Promise((done) => setTimeout(done, 50));
  }
  console.log((await client.resource(configMaps).get(at)).data["index.html"]);
}
await close();
`;

describe("the packed package", () => {
  it("has less than a megabyte and a half", async () => {
    assert.ok((await stat(tarball)).size < 1.5e6);
  });
});

describe("a program that is copied from a guide", () => {
  it("is a controller that reconciles an own kind against kcp start, and ends when asked to", async () => {
    const program = await programOf("controllers", "A controller of your own kind");
    const place = await project("controller", program);
    await writeFile(join(place, "prepare.mjs"), prepare);
    const kcp = join(folder, "unpacked", "package", "bin", "kcp.mjs");
    const root = join(folder, "root");
    const flags = ["--root-directory", root, "--secure-port", "0", "--storage", "memory"];
    const server = start([kcp, "start", ...flags, "--bind-address", "127.0.0.1"], {});
    await said(server, /kcp is ready/);
    const env = { KUBECONFIG: join(root, "admin.kubeconfig") };
    // The controller comes first, as it may: it says what is missing, and goes on when it is there.
    const controller = start([join(place, "main.js")], env);
    await said(
      controller,
      /warn {2}watch of websites\.v1\.example\.com: .*is not served here \(404\)/,
    );
    const run = (what: string) =>
      exec(process.execPath, [join(place, "prepare.mjs"), what], {
        env: { ...process.env, ...env },
        timeout: 60_000,
      });
    await run("create");
    assert.equal((await run("check")).stdout, "<h1>Hello</h1>\n");
    const ended = new Promise((done) => controller.once("exit", done));
    controller.kill("SIGINT");
    assert.equal(await ended, 0);
  });

  for (const [guide, heading, output] of [
    ["testing", "Every crash, every fault", "no fault breaks it\n"],
    ["types", "From TypeScript to a definition", "the definition is served\n"],
  ] as const) {
    it(`does what "${heading}" says`, async () => {
      const place = await project(guide, await programOf(guide, heading));
      const { stdout, stderr } = await exec(process.execPath, [join(place, "main.js")], {
        timeout: 120_000,
      });
      assert.equal(stdout, output);
      assert.equal(stderr, "");
    });
  }
});
