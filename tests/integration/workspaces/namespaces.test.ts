/**
 * Goal: the namespaces of a new workspace are whole when its create is answered, and looked after
 * like all others.
 */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { serviceAccounts } from "@kcp-ts/sdk/kinds";
import { eventually } from "@kcp-ts/testkit";
import { kinds, WorkspaceFixture } from "./workspace-fixture.ts";

const rootCa = "kube-root-ca.crt";

describe("the namespaces of a new workspace", () => {
  let fixture: WorkspaceFixture;
  beforeEach(async () => {
    fixture = await WorkspaceFixture.start();
  });
  afterEach(() => fixture.close());

  const caIn = async (path: string, namespace: string) => {
    const found = await fixture
      .at(path)
      .resource(kinds.configMaps)
      .find({ namespace, name: rootCa });
    return (found?.["data"] as { "ca.crt"?: string } | undefined)?.["ca.crt"];
  };

  it("have their certificate and their service account from the first moment", async () => {
    const workspaces = fixture.at("root").resource(kinds.workspaces);
    const made = await workspaces.create({
      metadata: { name: "team" },
      spec: { type: { name: "universal", path: "root" } },
    });
    assert.equal((made["status"] as { phase: string }).phase, "Ready");
    for (const namespace of ["default", "kube-system"]) {
      assert.match((await caIn("root:team", namespace)) ?? "", /BEGIN CERTIFICATE/, namespace);
      const account = await fixture
        .at("root:team")
        .resource(serviceAccounts)
        .find({ namespace, name: "default" });
      assert.equal(account?.metadata.namespace, namespace);
    }
  });

  it("get them back, and give them up with the workspace", async () => {
    await fixture.workspace("root", "team", { type: "root:universal" });
    const configMaps = fixture.at("root:team").resource(kinds.configMaps);
    const before = await caIn("root:team", "default");
    await configMaps.delete({ namespace: "default", name: rootCa });
    await eventually(async () => assert.equal(await caIn("root:team", "default"), before));
    await fixture.at("root").resource(kinds.workspaces).delete({ name: "team" });
    await eventually(async () => {
      const { items } = await fixture.at("*").resource(kinds.configMaps).list();
      const left = items.filter(({ metadata }) => metadata.name === rootCa);
      assert.ok(
        left.every(({ metadata }) =>
          ["root", "system:admin"].includes(metadata.annotations?.["kcp.io/cluster"] ?? ""),
        ),
        JSON.stringify(left.map(({ metadata }) => metadata.annotations)),
      );
    });
  });

  it("have nothing where no control loop would look after it", async () => {
    await fixture.close();
    fixture = await WorkspaceFixture.start({ controlLoops: false });
    await fixture.workspace("root", "team", { type: "root:universal" });
    assert.equal(await caIn("root:team", "default"), undefined);
  });
});
