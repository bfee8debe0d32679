/**
 * The Dockerfile of the agent, without Docker: what it copies is in the repository, what it runs
 * exists, and what its last stage holds is enough to start. With `KCP_IMAGE_BUILD=1` its steps are
 * run as well, in a copy of the tree that has nothing but the files that Git has, and the packages
 * that are installed here.
 */
import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rm, stat, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { promisify } from "node:util";

interface Step {
  readonly stage: number;
  readonly name: string;
  readonly text: string;
}

interface Copy {
  readonly from: string | undefined;
  readonly sources: readonly string[];
  readonly to: string;
}

function stepsOf(dockerfile: string): readonly Step[] {
  let stage = -1;
  return dockerfile
    .split("\n")
    .filter((line) => line.trim() !== "" && !line.startsWith("#"))
    .map((line) => {
      const [, name = "", text = ""] = /^([A-Z]+) (.*)$/.exec(line) ?? [];
      assert.notEqual(name, "", `${line} is not a step`);
      if (name === "FROM") stage += 1;
      return { stage, name, text };
    });
}

function copyOf({ text }: Step): Copy {
  const words = text.split(" ");
  const from = words[0]?.startsWith("--from=") ? words.shift()?.slice("--from=".length) : undefined;
  return { from, sources: words.slice(0, -1), to: words.at(-1) ?? "" };
}

const steps = stepsOf(await readFile("Dockerfile", "utf8"));
const named = (name: string, stage?: number) =>
  steps.filter((step) => step.name === name && (stage === undefined || step.stage === stage));
const run = promisify(execFile);
const buildFolder = "/src";

async function temporary(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "kcp-image-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

describe("the Dockerfile", () => {
  it("copies what is in the repository, and what building takes", async () => {
    const sources = named("COPY", 0).flatMap((step) => copyOf(step).sources);
    for (const source of sources) await stat(source);
    const { references } = JSON.parse(await readFile("tsconfig.json", "utf8")) as {
      references: { path: string }[];
    };
    for (const { path } of references) {
      assert.ok(sources.includes(path.split("/")[0] ?? ""), `${path} is built and not copied`);
    }
  });

  it("installs without running what packages bring along, and builds as people do", async () => {
    const { scripts } = JSON.parse(await readFile("package.json", "utf8")) as {
      scripts: Record<string, string>;
    };
    const commands = named("RUN").map(({ text }) => text);
    assert.deepEqual(commands, ["npm ci --ignore-scripts", "npm run --silent build"]);
    assert.equal(typeof scripts["build"], "string");
  });

  it("starts as nobody in particular, from an image that holds one file", async (t) => {
    const images = named("FROM").map(({ text }) => text);
    assert.deepEqual(images, ["node:20-slim AS build", "node:20-slim"]);
    const [{ text: user } = { text: "" }] = named("USER", 1);
    assert.match(user, /^[1-9]\d*:[1-9]\d*$/);
    const copies = named("COPY", 1).map(copyOf);
    assert.equal(copies.length, 1);
    const root = await temporary(t);
    for (const { from, sources, to } of copies) {
      assert.equal(from, "build");
      const [source = ""] = sources;
      assert.ok(source.startsWith(`${buildFolder}/`));
      await mkdir(dirname(join(root, to)), { recursive: true });
      await cp(source.slice(buildFolder.length + 1), join(root, to));
    }
    const [program, ...args] = JSON.parse(named("ENTRYPOINT")[0]?.text ?? "[]") as string[];
    const more = JSON.parse(named("CMD")[0]?.text ?? "[]") as string[];
    assert.equal(program, "node");
    const moved = args.map((one) => (one.startsWith("/") ? join(root, one) : one));
    const { stdout } = await run(process.execPath, [...moved, ...more], { cwd: root, env: {} });
    for (const flag of [
      "--from-kubeconfig",
      "--sync-target-uid",
      "--token-secret",
      "--import-apis",
    ])
      assert.ok(stdout.includes(flag), flag);
  });

  it("builds the file that its last stage takes", async (t) => {
    const [source = ""] = named("COPY", 1).flatMap((step) => copyOf(step).sources);
    const path = source.slice(buildFolder.length + 1);
    if (process.env["KCP_IMAGE_BUILD"] !== "1") {
      // The bundle of this run was made by the same command.
      assert.ok((await stat(path)).size > 100_000);
      return;
    }
    const folder = await temporary(t);
    const sources = named("COPY", 0).flatMap((step) => copyOf(step).sources);
    const tracked = execFileSync("git", ["ls-files", "-z", ...sources], { encoding: "utf8" });
    for (const file of tracked.split("\0").filter((one) => one !== "")) {
      await mkdir(dirname(join(folder, file)), { recursive: true });
      await cp(file, join(folder, file));
    }
    // Stands in for `npm ci`: what is here was installed by it.
    await cp("node_modules", join(folder, "node_modules"), {
      recursive: true,
      filter: (one) => !one.includes("node_modules/@kcp-ts") && !/node_modules\/kcp-ts/.test(one),
    });
    await mkdir(join(folder, "node_modules/@kcp-ts"));
    for (const name of execFileSync("ls", ["packages"], { encoding: "utf8" }).trim().split("\n")) {
      const link = name === "kcp-ts" ? name : `@kcp-ts/${name}`;
      await symlink(join(folder, "packages", name), join(folder, "node_modules", link));
    }
    await run("sh", ["-c", named("RUN").at(-1)?.text ?? ""], { cwd: folder, timeout: 600_000 });
    assert.ok((await stat(join(folder, path))).size > 100_000);
  });
});
