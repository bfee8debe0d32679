/**
 * Goal: the API server stands alone. A program of at most 40 lines makes one from
 * `kcp-ts/apiserver`, real kubectl works with it, nothing of workspaces or of physical clusters is
 * in it, and it idles in 60 MB.
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { before, describe, it, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { findKubectl, kubectlMissing } from "@kcp-ts/testkit";
import { build } from "esbuild";
import { temporaryFolder } from "./kcp-process.ts";
import { Kubectl } from "./kubectl.ts";

const checkout = fileURLToPath(new URL("../../../../", import.meta.url));
const example = join(checkout, "examples/apiserver.ts");
const idleBytesMax = 60 * 2 ** 20;
/**
 * Young objects get one MiB, and V8 no threads of its own: as the command `kcp` has it, but
 * smaller.
 */
const flags = ["--max-semi-space-size=1", "--v8-pool-size=0"];

let folder: string;
let bundled: readonly string[] = [];
before(async (t) => {
  folder = await temporaryFolder(t as TestContext);
  const { metafile } = await build({
    entryPoints: [join(checkout, "examples/dist/apiserver.js")],
    absWorkingDir: checkout,
    bundle: true,
    minify: true,
    metafile: true,
    platform: "node",
    format: "esm",
    external: ["classic-level"],
    outfile: join(folder, "apiserver.mjs"),
  });
  bundled = Object.keys(metafile.inputs);
});

interface Program {
  readonly child: ChildProcess;
  readonly kubeconfig: string;
}

async function started(t: TestContext): Promise<Program> {
  const kubeconfig = join(await temporaryFolder(t), "kubeconfig");
  const child = spawn(process.execPath, [...flags, join(folder, "apiserver.mjs"), kubeconfig], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.after(async () => {
    child.kill();
    await once(child, "exit");
  });
  await once(createInterface(child.stdout), "line");
  return { child, kubeconfig };
}

describe("an API server by itself", () => {
  it("is a program of at most 40 lines", async () => {
    const lines = (await readFile(example, "utf8")).trimEnd().split("\n");
    assert.ok(lines.length <= 40, String(lines.length));
    assert.ok(lines.every((line) => line.length <= 100));
  });

  it("is shown in the guide as it is", async () => {
    const guide = await readFile(join(checkout, "docs/guides/apiserver.md"), "utf8");
    assert.ok(guide.includes(`\`\`\`typescript\n${await readFile(example, "utf8")}\`\`\`\n`));
  });

  it("holds nothing of workspaces, of physical clusters, of controllers or of their clients", () => {
    const packages = new Set(bundled.map((path) => /^packages\/([\w-]+)\//.exec(path)?.[1]));
    packages.delete(undefined);
    assert.deepEqual([...packages].sort(), ["apiserver", "kcp-ts", "machinery", "pki"]);
  });

  it("idles in 60 MB", { skip: process.platform !== "linux" && "reads /proc" }, async (t) => {
    const sizes: number[] = [];
    for (let i = 0; i < 3; i++) {
      const { child } = await started(t);
      await new Promise((resolve) => setTimeout(resolve, 2000));
      sizes.push(await residentBytes(child));
    }
    const median = sizes.sort((a, b) => a - b)[1] as number;
    t.diagnostic(`resident: ${sizes.map((size) => (size / 2 ** 20).toFixed(1)).join(", ")} MiB`);
    assert.ok(median < idleBytesMax, `${median} bytes`);
  });

  it("is Kubernetes to kubectl", { skip: kubectlMissing() ?? false }, async (t) => {
    const { kubeconfig } = await started(t);
    const cache = join(await temporaryFolder(t), "cache");
    const kubectl = new Kubectl(findKubectl() as string, cache, ["--kubeconfig", kubeconfig]);
    await kubectl.run("create", "configmap", "hello", "--from-literal=who=world");
    const who = ["get", "configmap", "hello", "-o", "jsonpath={.data.who}"];
    assert.equal(await kubectl.run(...who), "world");
    const kinds = await kubectl.run("api-resources", "-o", "name");
    assert.match(kinds, /^customresourcedefinitions\.apiextensions\.k8s\.io$/m);
    assert.doesNotMatch(kinds, /kcp\.io/);
    assert.match(await kubectl.run("auth", "can-i", "--list"), /\*\.\*/);
  });
});

/** What of the process is in memory, pages of Node's own program included. */
async function residentBytes({ pid }: ChildProcess): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
}
