/**
 * The five-minute tour of the README, typed in as it stands: but for the port, which a reader has
 * to himself, and for the watch, which has no end.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFile, symlink } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { findKubectl, kubectlMissing } from "@kcp-ts/testkit";
import { collect, startKcp, temporaryFolder } from "./kcp-process.ts";

const checkout = fileURLToPath(new URL("../../../../", import.meta.url));
const watch = "kubectl get configmaps --watch\n";

async function tour(): Promise<string> {
  const readme = await readFile(join(checkout, "README.md"), "utf8");
  const [, block = ""] = /^```sh\n(export KUBECONFIG=.*?)^```$/ms.exec(readme) ?? [];
  assert.ok(block.endsWith(watch), "the tour ends in a watch");
  return block;
}

describe("the tour of the README", { skip: kubectlMissing() ?? false }, () => {
  it("does what it says", async (t) => {
    const folder = await temporaryFolder(t);
    for (const part of ["examples", "node_modules"])
      await symlink(join(checkout, part), join(folder, part));
    const kcp = await startKcp(join(folder, ".kcp"));
    t.after(() => kcp.kill());
    const { port } = new URL(kcp.url);
    const typed = (await tour())
      .replaceAll("localhost:6443", `localhost:${port}`)
      // Until its first line; it ends with the server.
      .replace(watch, `head -n 1 < <(${watch.trim()} 2>/dev/null)\n`);
    const programs = [dirname(findKubectl() as string), dirname(process.execPath)];
    const child = spawn("bash", ["-euc", typed], {
      cwd: folder,
      env: { HOME: folder, PATH: [...programs, process.env["PATH"]].join(delimiter) },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const { code, stdout, stderr } = await collect(child);
    assert.equal(code, 0, `${stdout}\n${stderr}`);
    for (const seen of [
      /^configmap\/hello created$/m,
      /^configmap\/hello labeled$/m,
      /^configmap\/app serverside-applied$/m,
      /^ {2}color: blue$/m,
      /^customresourcedefinition.apiextensions.k8s.io\/websites.example.com condition met$/m,
      /^configmap\/mine created$/m,
      /Workspace "team-c" .* is ready to use\./,
      /^└── team-c$/m,
      /^default +mine +1 /m,
    ])
      assert.match(stdout, seen);
    assert.match(stderr, /No resources found in default namespace\./);
  });
});
