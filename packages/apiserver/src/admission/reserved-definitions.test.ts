import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { definitionsPath, TestServer } from "../testing/index.ts";
import { cronTabs } from "./test-support/definitions.ts";

describe("definitions below apis.kcp.io", () => {
  const check = async (definition: object, cluster = "a") => {
    const server = await TestServer.start();
    const path = `/clusters/${cluster}${definitionsPath}`;
    const { status, object } = await server.request("POST", path, {
      body: definition,
      user: "masters",
    });
    await server.close();
    return { status, message: object.message };
  };

  for (const group of ["apis.kcp.io", "sub.apis.kcp.io"]) {
    it(`are reserved: the group ${group}`, async () => {
      const { status, message } = await check(cronTabs({ group }));
      assert.equal(status, 403);
      const name = `crontabs.${group}`;
      assert.equal(
        message,
        `customresourcedefinitions.apiextensions.k8s.io "${name}" is forbidden: ${group} is a reserved group`,
      );
    });
  }

  it("are permitted in the system's own cluster, and similar names in every cluster", async () => {
    assert.equal(
      (await check(cronTabs({ group: "apis.kcp.io" }), "system:system-crds")).status,
      201,
    );
    assert.equal((await check(cronTabs({ group: "myapis.kcp.io" }))).status, 201);
  });

  it("have annotations that only the system may set", async () => {
    const definition = cronTabs();
    const annotations = { "apis.kcp.io/bound-crd": "", "x.apis.kcp.io/y": "", "other.io/z": "" };
    const { message } = await check({
      ...definition,
      metadata: { ...definition.metadata, annotations },
    });
    assert.match(
      message ?? "",
      /\[apis\.kcp\.io\/bound-crd is a reserved annotation, x\.apis\.kcp\.io\/y is a reserved annotation\]$/,
    );
  });
});
