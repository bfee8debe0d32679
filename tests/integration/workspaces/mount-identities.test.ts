/**
 * Goal: the server of a mounted workspace gets the identities of users whom this server knows
 * everywhere, and hosts that tenants choose get none.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { UserInfo } from "@kcp-ts/apiserver";
import { isStatusError } from "@kcp-ts/machinery/status";
import { requestToken } from "@kcp-ts/multicluster";
import { type Client, connect, parseKubeconfig } from "@kcp-ts/sdk";
import { serviceAccounts as accounts, clusterRoleBindings as roles } from "@kcp-ts/sdk/kinds";
import { clientHandshake } from "@kcp-ts/sdk/websocket";
import { mountWorkspace } from "@kcp-ts/testing/internal";
import { eventually } from "@kcp-ts/testkit";
import { RemoteServer } from "./remote-server.ts";
import { alice, master, WorkspaceFixture } from "./workspace-fixture.ts";

const path = "/api/v1/namespaces";
const exec = "/api/v1/namespaces/default/pods/p/exec?command=ls";
const far = "root:org:far";
const handshake = () =>
  ({ ...clientHandshake(["v5.channel.k8s.io"]).headers }) as Record<string, string>;

describe("a mount of another server", () => {
  let fixture: WorkspaceFixture;
  let allowed: RemoteServer;
  let chosen: RemoteServer;
  const closing: (() => Promise<void>)[] = [];

  before(async () => {
    const [one, other] = [await RemoteServer.start(), await RemoteServer.start()];
    [allowed, chosen] = [one.far, other.far];
    const caPem = one.caPem + other.caPem;
    fixture = await WorkspaceFixture.start({ mounts: { caPem, allowedHosts: [allowed.host] } });
    await fixture.workspace("root", "org", { user: master });
    await fixture.grant("root:org", alice, ["cluster-admin"]);
    const org = fixture.at("root:org", alice);
    await mountWorkspace(org, "far", allowed.url);
    await mountWorkspace(org, "mine", chosen.url);
  });
  after(async () => {
    for (const close of closing) await close();
    await fixture.close();
    await allowed.close();
    await chosen.close();
  });

  async function clientOf(user: UserInfo, cluster: string, token?: string): Promise<Client> {
    let text = await fixture.plane.kubeconfig({ cluster, user });
    if (token !== undefined) text = text.replace(/("?token"?: )"?[^"\n]+"?/, `$1"${token}"`);
    const connection = connect(parseKubeconfig(text, { trust: "inline" }));
    closing.push(() => connection.close());
    return connection.client;
  }

  async function refusalOf(answer: Promise<unknown>): Promise<string> {
    try {
      await answer;
    } catch (error) {
      assert.ok(isStatusError(error), String(error));
      return `${error.code} ${error.message}`;
    }
    return "200";
  }

  const asks = (client: Client, headers: Record<string, string> = {}) =>
    refusalOf(client.json({ method: "GET", path, headers } as never));

  it("gets the identity of a user whom every workspace knows, without the attributes that count in this server alone", async () => {
    const user: UserInfo = {
      username: "carol",
      groups: [
        "system:masters",
        "system:kcp:admin",
        "system:nodes",
        "devs",
        "system:authenticated",
      ],
      extra: { "authorization.kcp.io/warrant": ["{}"], "example.com/team": ["a"] },
    };
    await eventually(async () => assert.equal(await asks(fixture.at(far, user)), "200"));
    const { headers } = allowed.last;
    assert.equal(headers["x-remote-user"], "carol");
    assert.equal(headers["x-remote-group"], "devs, system:authenticated");
    const extras = Object.keys(headers).filter((one) => one.startsWith("x-remote-extra"));
    assert.deepEqual(extras, ["x-remote-extra-example.com%2fteam"]);
  });

  it("on a host that the operator did not name is asked nothing, by anybody and any way", async () => {
    for (const user of [alice, master]) {
      const said = await asks(fixture.at("root:org:mine", user));
      assert.match(said, new RegExp(`^403 .*--mount-allowed-hosts=${chosen.host}`));
      const client = await clientOf(user, "root:org:mine");
      const session = client.upgrade({ method: "POST", path: exec, headers: handshake() });
      assert.equal((await session).status, 403);
    }
    assert.deepEqual(chosen.received, []);
  });

  it("gets no identity of a user who is known in one workspace only", async () => {
    const org = fixture.at("root:org", alice);
    const name = { namespace: "default", name: "robot" };
    await org.resource(accounts).create({ metadata: name });
    await org.resource(roles).create({
      metadata: { name: "robot" },
      roleRef: { apiGroup: roles.group, kind: "ClusterRole", name: "cluster-admin" },
      subjects: [
        { kind: "ServiceAccount", ...name },
        { kind: "User", apiGroup: roles.group, name: "system:admin" },
      ],
    } as never);
    const token = await requestToken(org, name, { expirationSeconds: 600 });
    const heard = allowed.received.length;
    const robot = await clientOf(alice, far, token);
    assert.match(
      await asks(robot),
      /^403 .*system:serviceaccount:default:robot is known to one workspace only/,
    );
    const session = await robot.upgrade({ method: "POST", path: exec, headers: handshake() });
    assert.equal(session.status, 403);
    // A certificate that the workspace approved, and a token of its own issuer, make users of this
    // form.
    const extra = { "authentication.kcp.io/scopes": ["cluster:root:org"] };
    const cluster = (await org.json({
      method: "GET",
      path: "/apis/core.kcp.io/v1alpha1/logicalclusters/cluster",
    })) as { metadata: { annotations: Record<string, string> } };
    const scope = `cluster:${cluster.metadata.annotations["kcp.io/cluster"]}`;
    for (const scopes of [extra["authentication.kcp.io/scopes"], [scope]]) {
      const user = { username: "system:admin", groups: ["system:authenticated"] };
      const local = { ...user, extra: { "authentication.kcp.io/scopes": scopes } };
      assert.match(await asks(fixture.at(far, local)), /^403 /);
    }
    // Nor of whom the workspace's administrator acts as.
    const acting = await asks(await clientOf(alice, far), {
      "impersonate-user": "system:admin",
      "impersonate-group": "system:masters",
    });
    assert.match(acting, /^403 /);
    assert.equal(allowed.received.length, heard);
  });
});
