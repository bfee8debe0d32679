/**
 * A tenant learns and reaches nothing of another tenant through the details of reading and naming.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Revision } from "@kcp-ts/apiserver/storage";
import { fillTwoTenants, secretOfB, stateOfB, TestServer } from "./testing/index.ts";

describe("lists and counts", () => {
  it("remainingItemCount and pages count a's objects only, however many b has", async () => {
    const server = await TestServer.start();
    for (const [cluster, count] of [
      ["a", 5],
      ["ab", 40],
      ["b", 40],
    ] as const) {
      for (let i = 0; i < count; i++) {
        await server.requestOk(
          "POST",
          `/clusters/${cluster}/api/v1/namespaces/default/configmaps`,
          { body: { metadata: { name: `${cluster}-${String(i).padStart(2, "0")}` } } },
        );
      }
    }
    for (const path of ["namespaces/default/configmaps", "configmaps"]) {
      const seen: string[] = [];
      let token = "";
      do {
        const page = await server.get(`/clusters/a/api/v1/${path}?limit=2&continue=${token}`);
        assert.equal(page.status, 200, page.text);
        seen.push(...page.names);
        token = page.object.metadata.continue ?? "";
        assert.equal(
          page.object.metadata.remainingItemCount,
          token === "" ? undefined : 5 - seen.length,
        );
      } while (token !== "");
      assert.deepEqual(seen, ["a-00", "a-01", "a-02", "a-03", "a-04"]);
    }
    await server.close();
  });

  it("forged continue tokens stay inside the request's own prefix", async () => {
    const server = await TestServer.start();
    await fillTwoTenants(server);
    const stateBefore = await stateOfB(server);
    const starts = [
      "../../b/shared/\0",
      "shared/../../b/\0",
      "..\0",
      "/\0",
      "//\0",
      "\0",
      "a\0",
      "/_/configmaps//b/shared/x\0",
      "b/\0",
      "b\0",
      "../b\0",
      "shared/\uffff\0",
      "!\0",
      "%2e%2e/b\0",
      "shared/shared\0extra\0",
      "~~~~\0",
      "no-terminator",
      "",
      "x".repeat(5000),
      "\ud800\0",
    ];
    const revisions = [1, -1, 3, 20, 0, -2, 1.5, 1e300, "3", null, {}];
    for (const start of starts) {
      for (const rv of revisions) {
        const forged = Buffer.from(JSON.stringify({ v: "meta.k8s.io/v1", rv, start })).toString(
          "base64url",
        );
        for (const path of ["namespaces/shared/configmaps", "configmaps", "namespaces"]) {
          const target = `/clusters/a/api/v1/${path}?limit=100&continue=${forged}`;
          const answering = server.get(target);
          const answer = await answering;
          assert.ok([200, 400, 410].includes(answer.status), `${answer.status} ${answer.text}`);
          assert.ok(!answer.text.includes(secretOfB), `${start} shows ${answer.text}`);
          if (!path.includes("/")) continue;
          const deleted = await server.request("DELETE", `${target}&dryRun=All`);
          assert.ok([200, 400, 410].includes(deleted.status), deleted.text);
          assert.ok(!deleted.text.includes(secretOfB), `${start} deletes ${deleted.text}`);
        }
      }
    }
    for (const token of ["x", "%00", "e30", "bnVsbA", "W10", "!!!!", "a".repeat(10_000)]) {
      const answer = await server.get(`/clusters/a/api/v1/configmaps?continue=${token}`);
      assert.equal(answer.status, 400, token);
      assert.match(
        answer.object.message ?? "",
        /^invalid continue token: continue key is not valid/,
      );
    }
    assert.equal(await stateOfB(server), stateBefore);
    await server.close();
  });

  it("a continue token of b's list is invalid in a", async () => {
    const server = await TestServer.start();
    await fillTwoTenants(server);
    const page = await server.get("/clusters/b/api/v1/configmaps?limit=1");
    const token = page.object.metadata.continue ?? "";
    assert.notEqual(token, "");
    const answer = await server.get(`/clusters/a/api/v1/configmaps?limit=100&continue=${token}`);
    assert.ok(!answer.text.includes(secretOfB), answer.text);
    await server.close();
  });
});

describe("watches", () => {
  it("a watch in a has none of b's events, and a wildcard watch has both, with their cluster", async () => {
    const server = await TestServer.start();
    await fillTwoTenants(server);
    const list = await server.get("/clusters/a/api/v1/configmaps");
    const from = list.object.metadata.resourceVersion;
    const watches = [
      `/clusters/a/api/v1/configmaps?watch=1&resourceVersion=${from}`,
      `/clusters/a/api/v1/namespaces/shared/configmaps?watch=1&resourceVersion=${from}`,
      `/clusters/a/api/v1/watch/namespaces/shared/configmaps/shared?resourceVersion=${from}`,
      `/clusters/a/api/v1/configmaps?watch=1&resourceVersion=${from}&labelSelector=owner`,
      `/clusters/a/api/v1/configmaps?watch=1&resourceVersion=1`,
    ];
    const readers = await Promise.all(watches.map((target) => server.watch(target)));
    const wildcard = await server.watch(
      `/clusters/*/api/v1/configmaps?watch=1&resourceVersion=${from}`,
      { user: "masters" },
    );
    const path = "api/v1/namespaces/shared/configmaps/shared";
    const change = (cluster: string, n: number) =>
      server.patch(`/clusters/${cluster}/${path}`, "merge", { data: { n: `${cluster}${n}` } });
    for (let n = 0; n < 3; n++) {
      assert.equal((await change("b", n)).status, 200);
      assert.equal((await change("a", n)).status, 200);
    }
    for (const reader of readers.slice(0, 4)) {
      const events = await reader.take(3);
      assert.deepEqual(
        events.map(({ object }) => object.data?.["n"]),
        ["a0", "a1", "a2"],
      );
    }
    // From the first revision: only the events of a.
    const replayed = await (readers[4] as (typeof readers)[0]).take(4);
    assert.ok(!JSON.stringify(replayed).includes(secretOfB));
    const all = await wildcard.take(6);
    assert.deepEqual(
      all.map(({ object }) => [
        object.metadata.annotations?.["kcp.io/cluster"],
        object.data?.["n"],
      ]),
      [0, 1, 2].flatMap((n) => [
        ["b", `b${n}`],
        ["a", `a${n}`],
      ]),
    );
    for (const reader of [...readers, wildcard]) await reader.leave();
    await server.close();
  });

  it("b's deletes and bookmarks reveal to a nothing but revisions", async () => {
    const server = await TestServer.start();
    await fillTwoTenants(server);
    const reader = await server.watch(
      "/clusters/a/api/v1/secrets?watch=1&allowWatchBookmarks=true&resourceVersion=1",
    );
    await reader.take(1);
    const next = reader.next();
    await server.requestOk("DELETE", "/clusters/b/api/v1/namespaces/shared/secrets/shared");
    server.clock.advance(60_000);
    const bookmark = await next;
    assert.equal(bookmark?.type, "BOOKMARK");
    assert.deepEqual(Object.keys(bookmark?.object ?? {}).sort(), [
      "apiVersion",
      "kind",
      "metadata",
    ]);
    assert.ok(!JSON.stringify(bookmark).includes(secretOfB));
    await reader.leave();
    await server.close();
  });
});

describe("the cluster annotation", () => {
  it("names the true cluster whatever a client writes", async () => {
    const server = await TestServer.start();
    const path = "/clusters/a/api/v1/namespaces/default/configmaps";
    const annotations = { "kcp.io/cluster": "b" };
    const clusterOf = (object: { metadata: { annotations?: Readonly<Record<string, string>> } }) =>
      object.metadata.annotations?.["kcp.io/cluster"];
    const created = await server.requestOk("POST", path, {
      body: { metadata: { name: "x", annotations } },
    });
    assert.equal(clusterOf(created), "a");
    const updated = await server.requestOk("PUT", `${path}/x`, {
      body: { metadata: { name: "x", annotations }, data: { k: "v" } },
    });
    assert.equal(clusterOf(updated), "a");
    for (const [type, patch] of [
      ["merge", { metadata: { annotations: { "kcp.io/cluster": null } } }],
      ["merge", { metadata: { annotations: null } }],
      ["merge", { metadata: { annotations } }],
      ["strategic", { metadata: { annotations } }],
      ["json", [{ op: "remove", path: "/metadata/annotations" }]],
    ] as const) {
      const patched = await server.patch(`${path}/x`, type, patch);
      assert.equal(patched.status, 200, patched.text);
      assert.equal(clusterOf(patched.object), "a");
    }
    assert.equal((await server.get("/clusters/b/api/v1/configmaps")).items.length, 0);
    await server.close();
  });
});

describe("names that look like paths", () => {
  it("are rejected or are nothing but names", async () => {
    const server = await TestServer.start();
    await fillTwoTenants(server);
    const stateBefore = await stateOfB(server);
    const names = [
      "../../b/shared/shared",
      "..",
      ".",
      "a/b",
      "a%2fb",
      "%2e%2e",
      "*",
      "a\0b",
      "shared/../shared",
      "\\..\\b",
      "constructor",
      "__proto__",
      "b".repeat(300),
      "é",
      "\ud800",
    ];
    for (const name of names) {
      for (const field of ["name", "generateName", "namespace"] as const) {
        const created = await server.request(
          "POST",
          "/clusters/a/api/v1/namespaces/shared/configmaps",
          { body: { metadata: { [field]: name } } },
        );
        const isPlain = name === "constructor" && field !== "namespace";
        const expected = isPlain ? [201, 409] : [400, 422];
        assert.ok(expected.includes(created.status), `${field} ${name}: ${created.text}`);
      }
      const made = await server.request("POST", "/clusters/a/api/v1/namespaces", {
        body: { metadata: { name } },
      });
      assert.ok([201, 422].includes(made.status), `namespace ${name}: ${made.text}`);
      const value = Buffer.from(name).toString("utf8").replaceAll("\\", "\\\\");
      const selector = encodeURIComponent(`metadata.name=${value}`);
      for (const path of ["namespaces/shared/configmaps", "configmaps", "namespaces"]) {
        const listed = await server.get(`/clusters/a/api/v1/${path}?fieldSelector=${selector}`);
        assert.equal(listed.status, 200, listed.text);
        assert.ok(!listed.text.includes(secretOfB));
        const reader = await server.watch(
          `/clusters/a/api/v1/${path}?watch=1&resourceVersion=1&fieldSelector=${selector}`,
        );
        await reader.leave();
      }
    }
    assert.equal(await stateOfB(server), stateBefore);
    await server.close();
  });
});

describe("revisions", () => {
  it("a list of a at any of b's revisions shows a at that revision", async () => {
    const server = await TestServer.start();
    await fillTwoTenants(server);
    const { signal } = new AbortController();
    const newest = await server.storage.currentRevision({ signal });
    for (let revision = 1 as Revision; revision <= newest; revision = (revision + 1) as Revision) {
      for (const match of ["Exact", "NotOlderThan"]) {
        const answer = await server.get(
          `/clusters/a/api/v1/secrets?resourceVersion=${revision}&resourceVersionMatch=${match}`,
        );
        assert.equal(answer.status, 200);
        assert.ok(!answer.text.includes(secretOfB));
      }
    }
    await server.close();
  });
});
