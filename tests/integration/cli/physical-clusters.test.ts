/** Physical clusters as users have them: a kubeconfig in a file, kubectl, and the command line. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { parseManifests } from "@kcp-ts/controlplane";
import { startListeningCluster } from "@kcp-ts/simulator";
import { runKcp, temporaryFolder } from "./kcp-process.ts";

describe("kcp crd-puller", () => {
  it("writes a definition for each API, and says what it could not have", async (t) => {
    const folder = await temporaryFolder(t);
    const east = await startListeningCluster({ name: "east", nodes: 0 });
    t.after(() => east.close());
    const kubeconfig = join(folder, "east.kubeconfig");
    await writeFile(kubeconfig, east.kubeconfig ?? "");
    const wanted = ["deployments.apps", "services", "nonsense"];
    const options = ["--kubeconfig", kubeconfig, "-o", folder];
    const { code, stderr } = await runKcp("crd-puller", ...options, ...wanted);
    assert.equal(code, 1);
    assert.match(stderr, /left out: nonsense: the cluster does not serve it/);
    for (const [file, name] of [
      ["deployments.apps.yaml", "deployments.apps"],
      ["services.yaml", "services.core"],
    ] as const) {
      const [manifest] = parseManifests(await readFile(join(folder, file), "utf8"), file);
      assert.equal(manifest?.kind, "CustomResourceDefinition");
      const metadata = manifest?.["metadata"] as { readonly name: string } | undefined;
      assert.equal(metadata?.name, name);
    }
  });
});

describe("the list of controllers", () => {
  it("rejects names of unknown controllers", async () => {
    const { code, stderr } = await runKcp("start", "--controllers", "nonsense");
    assert.equal(code, 2);
    assert.match(stderr, /there is no controller nonsense/);
  });
});
