/**
 * Goal: a secret of the right type becomes a token that lets its account in, in its own logical
 * cluster, until either goes.
 */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { secrets, serviceAccounts } from "@kcp-ts/sdk/kinds";
import { startTestControlPlane, type TestControlPlane } from "@kcp-ts/testing/internal";
import { eventually } from "@kcp-ts/testkit";

const namespace = "default";

describe("secrets for tokens of service accounts", () => {
  let plane: TestControlPlane;
  beforeEach(async () => {
    plane = await startTestControlPlane();
  });
  afterEach(() => plane.close());

  const make = (cluster: string, name: string, account: string, annotations: object = {}) =>
    plane
      .clientFor(cluster)
      .resource(secrets)
      .create({
        metadata: {
          name,
          namespace,
          annotations: { "kubernetes.io/service-account.name": account, ...annotations },
        },
        type: "kubernetes.io/service-account-token",
      });
  const makeAccount = (cluster: string, name: string) =>
    plane.clientFor(cluster).resource(serviceAccounts).create({ metadata: { name, namespace } });
  const find = (cluster: string, name: string) =>
    plane.clientFor(cluster).resource(secrets).find({ namespace, name });
  const gone = (cluster: string, name: string) =>
    eventually(async () => assert.equal(await find(cluster, name), undefined));
  const tokenIn = async (cluster: string, name: string): Promise<string> => {
    const token = await eventually(async () => {
      const found = (await find(cluster, name))?.data?.["token"];
      assert.ok(found !== undefined, "it is filled");
      return found;
    });
    return Buffer.from(token, "base64").toString("utf8");
  };
  /** Discovery is open to every authenticated user. */
  const statusWith = async (cluster: string, token: string): Promise<number> => {
    const { status } = await plane.server.handle({
      method: "GET",
      target: `/clusters/${cluster}/api/v1`,
      headers: { authorization: `Bearer ${token}` },
      remoteAddress: "127.0.0.1",
      clientCertificate: undefined,
      onClose: () => {},
      readBody: async () => new Uint8Array(),
    });
    return status;
  };

  it("are filled, and what they hold lets the account in", async () => {
    for (const cluster of ["a", "b"]) {
      const account = await makeAccount(cluster, "robot");
      await make(cluster, "robot-token", "robot");
      const token = await tokenIn(cluster, "robot-token");
      const secret = await find(cluster, "robot-token");
      assert.deepEqual(Object.keys(secret?.data ?? {}).sort(), ["ca.crt", "namespace", "token"]);
      assert.equal(
        secret?.metadata.annotations?.["kubernetes.io/service-account.uid"],
        account.metadata.uid,
      );
      assert.equal(await statusWith(cluster, token), 200);
      const claims = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());
      assert.equal(claims["kubernetes.io/serviceaccount/clusterName"], cluster);
    }
  });

  it("end with their deletion, at once", async () => {
    await makeAccount("a", "robot");
    await make("a", "t", "robot");
    const token = await tokenIn("a", "t");
    await plane.clientFor("a").resource(secrets).delete({ namespace, name: "t" });
    assert.equal(await statusWith("a", token), 401);
    // Another of the same name in another cluster is no substitute.
    await makeAccount("b", "robot");
    await make("b", "t", "robot");
    await tokenIn("b", "t");
    assert.equal(await statusWith("a", token), 401);
    assert.equal(await statusWith("b", token), 401);
  });

  it("go with their account", async () => {
    await makeAccount("a", "robot");
    await make("a", "t", "robot");
    const token = await tokenIn("a", "t");
    await plane.clientFor("a").resource(serviceAccounts).delete({ namespace, name: "robot" });
    assert.equal(await statusWith("a", token), 401);
    await gone("a", "t");
  });

  it("for an account that does not exist, or is another by now, are removed", async () => {
    await make("a", "nobody", "nosuch");
    await gone("a", "nobody");
    await makeAccount("a", "robot");
    await make("a", "old", "robot", { "kubernetes.io/service-account.uid": "earlier" });
    await gone("a", "old");
  });

  it("of other types are left alone", async () => {
    const client = plane.clientFor("a").resource(secrets);
    await makeAccount("a", "robot");
    const annotations = { "kubernetes.io/service-account.name": "robot" };
    await client.create({ metadata: { name: "plain", namespace, annotations } });
    await make("a", "t", "robot");
    await tokenIn("a", "t");
    assert.equal((await client.get({ namespace, name: "plain" })).data, undefined);
  });
});
