/**
 * The Dockerfile without Docker: what it copies is in the repository, its steps are those of this
 * checkout, and each image's files are written by the same program and started from a read-only
 * root by a user without rights. With `KCP_IMAGE_BUILD=1` the steps of the build are run as well,
 * in a copy of the tree that has nothing but the files that Git has, and the packages that are
 * installed here.
 */
import assert from "node:assert/strict";
import { execFile, execFileSync, spawn } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { describe, it, type TestContext } from "node:test";
import { promisify } from "node:util";
import { isExecutable } from "@kcp-ts/testkit";
import { type ImageTarget, imageTargets, writeImageTree } from "./image-tree.ts";

interface Step {
  readonly stage: string;
  readonly name: string;
  readonly text: string;
}

function stepsOf(dockerfile: string): readonly Step[] {
  let stage = "";
  return dockerfile
    .split("\n")
    .filter((line) => line.trim() !== "" && !line.startsWith("#"))
    .map((line) => {
      const [, name = "", text = ""] = /^([A-Z]+) (.*)$/.exec(line) ?? [];
      assert.notEqual(name, "", `${line} is not a step`);
      if (name === "FROM") stage = / AS (\S+)$/.exec(text)?.[1] ?? "";
      return { stage, name, text };
    });
}

const steps = stepsOf(await readFile("Dockerfile", "utf8"));
const named = (name: string, stage: string) =>
  steps.filter((step) => step.name === name && step.stage === stage).map(({ text }) => text);
const run = promisify(execFile);
/** What the stage `build` copies from the repository. */
const sources = named("COPY", "build").flatMap((text) => text.split(" ").slice(0, -1));

async function temporary(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "kcp-image-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

describe("the Dockerfile", () => {
  it("copies what is in the repository, and what building takes", async () => {
    for (const source of sources) await stat(source);
    const { references } = JSON.parse(await readFile("tsconfig.json", "utf8")) as {
      references: { path: string }[];
    };
    for (const { path } of references)
      assert.ok(sources.includes(path.split("/")[0] ?? ""), `${path} is built and not copied`);
  });

  it("installs without running what packages bring along, and builds as people do", async () => {
    const { scripts } = JSON.parse(await readFile("package.json", "utf8")) as {
      scripts: Record<string, string>;
    };
    assert.deepEqual(named("RUN", "build"), [
      "npm ci --ignore-scripts",
      "npm run --silent build",
      ...imageTargets.map((target) => `node tools/dist/image.js ${target} /image/${target}`),
      "mkdir -p /image/data/kcp",
    ]);
    assert.equal(typeof scripts["build"], "string");
  });

  for (const target of imageTargets)
    it(`makes ${target} of files alone, for a user without rights`, () => {
      assert.deepEqual(named("FROM", target), [`scratch AS ${target}`]);
      assert.deepEqual(named("RUN", target), []);
      assert.equal(named("COPY", target)[0], `--from=build /image/${target} /`);
      assert.match(named("USER", target)[0] ?? "", /^[1-9]\d*:[1-9]\d*$/);
    });

  it("builds from what Git has", async (t) => {
    if (process.env["KCP_IMAGE_BUILD"] !== "1") return t.skip("KCP_IMAGE_BUILD is not 1");
    const folder = await temporary(t);
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
    for (const name of await readdir("packages")) {
      const link = name === "kcp-ts" ? name : `@kcp-ts/${name}`;
      await symlink(join(folder, "packages", name), join(folder, "node_modules", link));
    }
    for (const step of named("RUN", "build").slice(1)) {
      const here = step.replaceAll("/image/", `${folder}/image/`);
      await run("sh", ["-c", here], { cwd: folder, timeout: 600_000 });
    }
    await stat(join(folder, "image/control-plane/app/kcp.mjs"));
  });
});

/** A root that is read-only, and a data directory that is not, as a container has them. */
const inImage = `set -e
mount --bind "$ROOT" "$ROOT"
mount -o remount,ro,bind "$ROOT"
mount -t proc proc "$ROOT/proc"
mount -t tmpfs -o uid=65532,gid=65532,mode=0700 tmpfs "$ROOT/var/lib/kcp"
exec env -i $ENVIRONMENT /usr/sbin/chroot --userspec="$USERSPEC" "$ROOT" "$@"`;

const cannotChroot =
  process.platform === "linux" && process.getuid?.() === 0 && isExecutable("/usr/bin/unshare")
    ? false
    : "chroot needs root on Linux";

function startImage(target: ImageTarget, root: string, args: readonly string[]) {
  const entry = JSON.parse(named("ENTRYPOINT", target)[0] ?? "[]") as string[];
  const env = {
    PATH: process.env["PATH"],
    ROOT: root,
    ENVIRONMENT: named("ENV", target)[0] ?? "",
    USERSPEC: named("USER", target)[0] ?? "",
  };
  const shell = ["--mount", "--", "sh", "-c", inImage, "sh", ...entry, ...args];
  return spawn("unshare", shell, { env, stdio: ["ignore", "pipe", "pipe"] });
}

async function written(t: TestContext, target: ImageTarget): Promise<string> {
  const root = join(await temporary(t), target);
  writeImageTree(target, root);
  await mkdir(join(root, "var/lib/kcp"), { recursive: true });
  return root;
}

async function sizeOf(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const sizes = files.map(
    async ({ parentPath, name }) => (await stat(join(parentPath, name))).size,
  );
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

const imageBytesMax = 120e6;

describe("the images", () => {
  for (const target of imageTargets)
    it(`${target} has less than 120 MB`, async (t) => {
      // The image has the Node of its base image, which is that of most developers.
      if (!process.version.startsWith("v20.")) return t.skip(`Node 20, not ${process.version}`);
      const bytes = await sizeOf(await written(t, target));
      t.diagnostic(`${target}: ${(bytes / 1e6).toFixed(1)} MB`);
      assert.ok(bytes < imageBytesMax, `${bytes} bytes`);
    });

  it("control-plane serves from a read-only root", { skip: cannotChroot }, async (t) => {
    const root = await written(t, "control-plane");
    const [verb = "", ...flags] = JSON.parse(named("CMD", "control-plane")[0] ?? "[]") as string[];
    const server = startImage("control-plane", root, [verb, ...flags, "--secure-port=0"]);
    t.after(() => server.kill("SIGKILL"));
    const lines: string[] = [];
    const ended = new Promise<number>((resolve) =>
      server.once("exit", (code) => resolve(code ?? -1)),
    );
    for await (const line of createInterface({ input: server.stderr })) {
      lines.push(line);
      if (line.includes("kcp is ready")) break;
    }
    assert.match(lines.join("\n"), /kcp is ready/);
    server.kill("SIGTERM");
    server.stderr.resume();
    assert.equal(await ended, 0);
  });

  it("agent says what it needs", { skip: cannotChroot }, async (t) => {
    const root = await written(t, "agent");
    const agent = startImage("agent", root, JSON.parse(named("CMD", "agent")[0] ?? "[]"));
    let help = "";
    for await (const text of agent.stdout) help += String(text);
    for (const flag of [
      "--from-kubeconfig",
      "--sync-target-uid",
      "--token-secret",
      "--import-apis",
    ])
      assert.ok(help.includes(flag), flag);
  });
});
