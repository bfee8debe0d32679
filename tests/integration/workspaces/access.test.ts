/**
 * Goal: what an unauthenticated client, a guest, a workspace's administrator and a global
 * administrator can see and do, and that rejections do not disclose whether a workspace exists.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { UserInfo } from "@kcp-ts/apiserver";
import { eventually } from "@kcp-ts/testkit";
import {
  admin,
  alice,
  bob,
  kinds,
  master,
  specOf,
  statusOfRejection,
  WorkspaceFixture,
} from "./workspace-fixture.ts";

const carol: UserInfo = { username: "carol", groups: ["system:authenticated"] };
const nobody: UserInfo = { username: "system:anonymous", groups: ["system:unauthenticated"] };

describe("who may enter a workspace", () => {
  let fixture: WorkspaceFixture;
  let cluster = "";
  before(async () => {
    fixture = await WorkspaceFixture.start();
    await fixture.workspace("root", "org", { user: master });
    await fixture.grant("root:org", alice, ["cluster-admin"]);
    await fixture.grant("root:org", bob, ["system:kcp:workspace:access"]);
    const team = await fixture.workspace("root:org", "team", {
      user: alice,
      type: "root:universal",
    });
    cluster = String(specOf(team)["cluster"]);
    const secretive = { metadata: { name: "plans", namespace: "default" } };
    await fixture.at("root:org:team").resource(kinds.configMaps).create(secretive);
    await fixture.grant("root:org:team", bob, ["system:kcp:workspace:access"]);
  });
  after(() => fixture.close());

  const list = (path: string, user: UserInfo) =>
    statusOfRejection(
      fixture.at(path, user).resource(kinds.configMaps).list({ namespace: "default" }),
    );
  const discover = (path: string, user: UserInfo) =>
    statusOfRejection(fixture.at(path, user).json({ method: "GET", path: "/apis" }));

  const table: readonly [who: string, user: UserInfo, list: number, discover: number][] = [
    ["a stranger", carol, 403, 403],
    ["somebody who does not say who they are", nobody, 403, 403],
    ["a guest", bob, 403, 200],
    ["its creator", alice, 200, 200],
    ["an administrator of everything", admin, 200, 200],
    ["a member of system:masters", master, 200, 200],
  ];
  for (const [who, user, listCode, discoverCode] of table) {
    it(`${who}: ${listCode} for its objects, ${discoverCode} for discovery`, async () => {
      for (const path of ["root:org:team", cluster]) {
        assert.equal((await list(path, user)).code, listCode, path);
        assert.equal((await discover(path, user)).code, discoverCode, path);
      }
    });
  }

  it("a rejection does not disclose whether a workspace exists", async () => {
    const paths = ["root:org:team", "root:org:none", "root:none:none", cluster, "0123456789abcdef"];
    for (const user of [carol, nobody]) {
      const answers = await Promise.all(paths.map((path) => list(path, user)));
      for (const answer of answers) assert.deepEqual(answer, answers[0]);
      assert.equal(answers[0]?.code, 403);
    }
  });

  it("an administrator of a workspace has no permissions in its siblings", async () => {
    await fixture.workspace("root:org", "other", { user: master, type: "root:universal" });
    assert.equal((await list("root:org:other", alice)).code, 403);
    const read = fixture.at("root:org:other", alice).resource(kinds.workspaces).list({});
    assert.equal((await statusOfRejection(read)).code, 403);
  });

  it("only members of system:masters read all logical clusters at once", async () => {
    for (const [user, code] of [
      [alice, 403],
      [bob, 403],
      [master, 200],
    ] as const) {
      const read = fixture.at("*", user).resource(kinds.workspaces).list({});
      assert.equal((await statusOfRejection(read)).code, code, user.username);
    }
  });

  it("the administrator of a workspace cannot delete, create or restart its LogicalCluster", async () => {
    const logical = fixture.at("root:org:team", alice).resource(kinds.logicalClusters);
    assert.deepEqual(await statusOfRejection(logical.delete({ name: "cluster" })), {
      code: 403,
      message:
        'logicalclusters.core.kcp.io "cluster" is forbidden: LogicalCluster cannot be deleted',
    });
    const found = await logical.get({ name: "cluster" });
    const spec = { ...specOf(found), initializers: ["root:other"] };
    assert.equal((await statusOfRejection(logical.update({ ...found, spec } as never))).code, 403);
    const status = { ...(found["status"] as object), initializers: ["root:other"] };
    assert.equal(
      (await statusOfRejection(logical.updateStatus({ ...found, status } as never))).code,
      403,
    );
    const second = fixture.at("root:org:team", alice).resource(kinds.logicalClusters);
    assert.equal(
      (await statusOfRejection(second.create({ metadata: { name: "cluster" } }))).code,
      403,
    );
  });

  it("required groups keep out those who are not in them, and go on to workspaces below", async () => {
    await fixture.workspace("root", "club", { user: master });
    const member = { username: "dora", groups: ["system:authenticated", "club"] };
    const outsider = { username: "dora", groups: ["system:authenticated"] };
    await fixture.grant("root:club", member, ["cluster-admin"]);
    const logical = fixture.at("root:club", master).resource(kinds.logicalClusters);
    const found = await logical.get({ name: "cluster" });
    const annotations = {
      ...found.metadata.annotations,
      "authorization.kcp.io/required-groups": "staff,vip;club",
    };
    await logical.update({ ...found, metadata: { ...found.metadata, annotations } });
    assert.equal((await list("root:club", outsider)).code, 403);
    assert.equal((await list("root:club", member)).code, 200);
    await fixture.workspace("root:club", "room", { user: member, type: "root:universal" });
    assert.equal((await list("root:club:room", outsider)).code, 403);
    assert.equal((await list("root:club:room", member)).code, 200);
  });

  it("an inactive logical cluster is closed to everybody until it is active again", async () => {
    await fixture.workspace("root", "asleep", { user: master });
    const logical = fixture.at("root:asleep", master).resource(kinds.logicalClusters);
    const mark = async (value: string) => {
      const found = await logical.get({ name: "cluster" });
      const annotations = { ...found.metadata.annotations, "core.kcp.io/inactive": value };
      await logical.update({ ...found, metadata: { ...found.metadata, annotations } });
    };
    await mark("true");
    const { code, message } = await list("root:asleep", master);
    assert.equal(code, 403);
    assert.match(message, /logical cluster is marked inactive/);
    await mark("false");
    assert.equal((await list("root:asleep", master)).code, 200);
  });

  it("watches end when their logical cluster is closed or deleted, those over all of them when one is closed", async () => {
    await fixture.workspace("root", "dormant", { user: master });
    await fixture.workspace("root", "doomed", { user: master });
    const ofDormant = await opened("root:dormant");
    const ofDoomed = await opened("root:doomed");
    const ofAll = await opened("*");
    const ofAnother = await opened("root:org");
    const logical = fixture.at("root:dormant", master).resource(kinds.logicalClusters);
    const found = await logical.get({ name: "cluster" });
    const annotations = { ...found.metadata.annotations, "core.kcp.io/inactive": "true" };
    await logical.update({ ...found, metadata: { ...found.metadata, annotations } });
    await Promise.all([ofDormant.ended, ofAll.ended]);
    await fixture.at("root").resource(kinds.workspaces).delete({ name: "doomed" });
    await ofDoomed.ended;
    const configMap = { metadata: { name: "still-told", namespace: "default" } };
    await fixture.at("root:org", master).resource(kinds.configMaps).create(configMap);
    await eventually(async () => assert.ok(ofAnother.names.includes("still-told")), {
      timeoutMs: 60_000,
    });
    ofAnother.leave();
    await ofAnother.ended;
  });

  /** A watch of config maps that stands, and what it has told so far. */
  async function opened(path: string) {
    const leaving = new AbortController();
    const names: string[] = [];
    let onOpen = () => {};
    const isOpen = new Promise<void>((resolve) => {
      onOpen = resolve;
    });
    const follow = async () => {
      const { signal } = leaving;
      const watch = fixture.at(path, master).resource(kinds.configMaps).watch({ signal, onOpen });
      for await (const event of watch)
        if (event.type !== "BOOKMARK") names.push(event.object.metadata.name ?? "");
    };
    const ended = follow();
    await isOpen;
    return { names, ended, leave: () => leaving.abort() };
  }
});

describe("a home workspace", () => {
  let fixture: WorkspaceFixture;
  before(async () => {
    fixture = await WorkspaceFixture.start();
  });
  after(() => fixture.close());

  const home = (user: UserInfo) =>
    fixture.at("root", user).resource(kinds.workspaces).get({ name: "~" });

  it("is made when its user first asks, and is the same from then on", async () => {
    const first = await home(alice);
    const second = await home(alice);
    assert.equal(specOf(first)["cluster"], specOf(second)["cluster"]);
    assert.equal(first.metadata.name, "cluster");
    assert.equal(
      specOf(first)["URL"],
      `https://localhost:6443/clusters/${String(specOf(first)["cluster"])}`,
    );
    const logical = await fixture
      .at("user:alice", alice)
      .resource(kinds.logicalClusters)
      .get({ name: "cluster" });
    assert.equal(logical.metadata.annotations?.["kcp.io/path"], "user:alice");
    assert.equal(logical.metadata.annotations?.["internal.tenancy.kcp.io/type"], "root:home");
  });

  it("is writable by its user, and by no other user", async () => {
    await home(alice);
    await home(bob);
    const configMap = { metadata: { name: "mine", namespace: "default" } };
    await fixture.at("user:alice", alice).resource(kinds.configMaps).create(configMap);
    const intruding = fixture.at("user:alice", bob).resource(kinds.configMaps).list({});
    assert.equal((await statusOfRejection(intruding)).code, 403);
    const below = await fixture.workspace("user:alice", "project", { user: alice });
    assert.equal(specOf(below)["URL"], "https://localhost:6443/clusters/user:alice:project");
    await fixture
      .at("user:alice:project", alice)
      .resource(kinds.configMaps)
      .create({ metadata: { name: "deep", namespace: "default" } });
  });

  const oddNames = [
    "alice:project",
    "alice:project:x",
    "a/b",
    "../root",
    "Jürgen",
    "日本",
    "*",
    "a b",
    "x".repeat(300),
    "root",
    "admin@example.com",
  ];
  for (const username of oddNames) {
    it(`of ${JSON.stringify(username.slice(0, 20))} leads nowhere but to its user`, async () => {
      const user: UserInfo = { username, groups: ["system:authenticated"] };
      await home(alice);
      const made = await home(user);
      const cluster = String(specOf(made)["cluster"]);
      assert.match(cluster, /^[a-z0-9][a-z0-9-]{0,61}[a-z0-9]$/);
      assert.equal(specOf(await home(user))["cluster"], cluster);
      const logical = fixture.at(cluster, user).resource(kinds.logicalClusters);
      const path = String(
        (await logical.get({ name: "cluster" })).metadata.annotations?.["kcp.io/path"],
      );
      const sameByPath = await fixture
        .at(path, user)
        .resource(kinds.logicalClusters)
        .get({ name: "cluster" });
      assert.equal(sameByPath.metadata.annotations?.["kcp.io/cluster"], cluster);
      const below = await fixture.workspace(cluster, "below", { user });
      assert.equal(specOf(below)["URL"], `https://localhost:6443/clusters/${path}:below`);
      await fixture.at(`${path}:below`, user).resource(kinds.namespaces).list({});
    });
  }

  it("is refused to those who are not known, in kcp's words", async () => {
    assert.deepEqual(await statusOfRejection(home(nobody)), {
      code: 403,
      message:
        'workspaces.tenancy.kcp.io "~" is forbidden: User "system:anonymous" cannot create resource "workspaces" in API group "tenancy.kcp.io" at the cluster scope: workspace access not permitted',
    });
  });
});
