/**
 * Goal: an approved request becomes a certificate that lets its holder in, in the logical cluster
 * that approved it.
 */
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { Authorizer, UserInfo } from "@kcp-ts/apiserver";
import { defineResource, type KubernetesObject } from "@kcp-ts/sdk";
import { certificateSigningRequests } from "@kcp-ts/sdk/kinds";
import {
  opensslRequest,
  startTestControlPlane,
  type TestControlPlane,
} from "@kcp-ts/testing/internal";
import type { FakeClock } from "@kcp-ts/testkit";
import { eventually } from "@kcp-ts/testkit";

interface Request extends KubernetesObject {
  readonly spec: object;
  readonly status?: {
    readonly certificate?: string;
    readonly conditions?: readonly { readonly type: string; readonly message?: string }[];
  };
}

const requests = defineResource<Request>(certificateSigningRequests);

let lastUser: UserInfo | undefined;
/**
 * Tenants may do everything in the cluster of their name, but with signers only what they are named
 * for.
 */
const tenants: Authorizer = {
  authorize({ user, cluster, resource, verb, name }) {
    if (resource === "configmaps") lastUser = user;
    const isSigner = resource === "signers";
    const allowed = isSigner
      ? user.groups.includes(`${verb}s ${name}`)
      : user.username === cluster || user.groups.includes(`owner of ${cluster}`);
    return { allowed, reason: "" };
  },
};

describe("certificate signing requests", () => {
  let plane: TestControlPlane<FakeClock>;
  beforeEach(async () => {
    lastUser = undefined;
    plane = await startTestControlPlane({ clock: "fake", authorizers: [tenants] });
  });
  afterEach(() => plane.close());

  const clientSigner = "kubernetes.io/kube-apiserver-client";
  const make = (name: string, subject: string, more: object = {}, cluster = "a", user?: UserInfo) =>
    plane
      .clientFor(cluster, user)
      .resource(requests)
      .create({
        metadata: { name },
        spec: {
          request: opensslRequest(subject),
          signerName: clientSigner,
          usages: ["client auth"],
          ...more,
        },
      });
  const find = (name: string, cluster = "a") =>
    plane.clientFor(cluster).resource(requests).find({ name });
  const decide = async (name: string, type: string, cluster = "a", user?: UserInfo) => {
    const request = await plane.clientFor(cluster).resource(requests).get({ name });
    const condition = { type, status: "True", reason: "Test", message: "by a test" };
    await plane
      .clientFor(cluster, user)
      .resource(requests)
      .subresource<Request>("approval")
      .update({ name }, { ...request, status: { conditions: [condition] } });
  };
  const issued = (name: string, cluster = "a") =>
    eventually(async () => {
      const { certificate } = (await find(name, cluster))?.status ?? {};
      assert.ok(certificate !== undefined, "it is signed");
      return new X509Certificate(Buffer.from(certificate, "base64"));
    });
  const failure = (name: string) =>
    eventually(async () => {
      const failed = (await find(name))?.status?.conditions?.find(({ type }) => type === "Failed");
      assert.ok(failed !== undefined, "it has failed");
      return failed.message ?? "";
    });
  const get = async (cluster: string, certificate: X509Certificate) => {
    const { status } = await plane.server.handle({
      method: "GET",
      target: `/clusters/${cluster}/api/v1/namespaces/default/configmaps`,
      headers: {},
      remoteAddress: "",
      clientCertificate: certificate,
      onClose: () => {},
      readBody: async () => new Uint8Array(),
    });
    return status;
  };

  it("become certificates when they are approved, and not before", async () => {
    await make("alice", "/O=dev/O=owner of a/OU=kcp:cluster:b/CN=alice");
    await make("waiting", "/CN=bob");
    await decide("alice", "Approved");
    const certificate = await issued("alice");
    assert.equal(await get("a", certificate), 200);
    assert.equal(lastUser?.username, "alice");
    assert.deepEqual(lastUser?.groups, ["dev", "owner of a", "system:authenticated"]);
    // Where it was approved, whatever the request said of it.
    assert.deepEqual(lastUser?.extra?.["authentication.kcp.io/scopes"], ["cluster:a"]);
    assert.deepEqual(certificate.keyUsage, ["1.3.6.1.5.5.7.3.2"]);
    assert.equal((await find("waiting"))?.status?.certificate, undefined);
  });

  it("give no more time than was asked for", async () => {
    await make("short", "/CN=alice", { expirationSeconds: 600 });
    await decide("short", "Approved");
    const certificate = await issued("short");
    const restMs = Date.parse(certificate.validTo) - plane.clock.now();
    assert.ok(restMs <= 600_000 && restMs > 598_000, String(restMs));
    plane.clock.advance(601_000);
    assert.equal(await get("a", certificate), 401);
  });

  it("cannot ask for groups over everything, nor be signed for other uses", async () => {
    for (const group of ["system:masters", "system:kcp:admin"]) {
      await assert.rejects(
        make("masters", `/O=dev/O=${group}/CN=x`),
        new RegExp(`use of ${clientSigner} signer with ${group} group is not allowed`),
      );
    }
    await make("server", "/CN=x", { usages: ["client auth", "server auth"] });
    await decide("server", "Approved");
    assert.equal(await failure("server"), "invalid usage for client certificate: server auth");
    await make("none", "/CN=x", { usages: ["digital signature"] });
    await decide("none", "Approved");
    assert.match(await failure("none"), /missing required usage/);
    await make("nameless", "/O=dev");
    await decide("nameless", "Approved");
    assert.match(await failure("nameless"), /no common name/);
  });

  it("of other signers, and denied ones, are left alone", async () => {
    await make("other", "/CN=x", { signerName: "example.com/mine" });
    await make("denied", "/CN=x");
    await make("good", "/CN=x");
    await decide("other", "Approved");
    await decide("denied", "Denied");
    await decide("good", "Approved");
    await issued("good");
    assert.equal((await find("other"))?.status?.certificate, undefined);
    assert.equal((await find("denied"))?.status?.certificate, undefined);
  });

  it("are approved and signed by those who may, in their own cluster", async () => {
    const owner = (...groups: string[]): UserInfo => ({ username: "a", groups });
    await make("one", "/CN=x", {}, "a", owner());
    await assert.rejects(
      decide("one", "Approved", "a", owner()),
      /"one" is forbidden: user not permitted to approve requests with signerName "kubernetes.io\/kube-apiserver-client"/,
    );
    const approver = owner(`approves ${clientSigner}`);
    await assert.rejects(
      plane
        .clientFor("a", approver)
        .resource(requests)
        .updateStatus({
          ...(await plane.clientFor("a").resource(requests).get({ name: "one" })),
          status: { conditions: [{ type: "Failed", status: "True" } as never] },
        }),
      /user not permitted to sign requests with signerName/,
    );
    await make("theirs", "/CN=x", {}, "b");
    await assert.rejects(decide("theirs", "Approved", "b", approver), /forbidden/);
    await decide("one", "Approved", "a", approver);
    await issued("one");
    await make("two", "/CN=x", {}, "a", owner());
    await decide("two", "Approved", "a", owner("approves kubernetes.io/*"));
    await issued("two");
  });

  it("are removed an hour after they were decided, or a day after they came", async () => {
    await make("signed", "/CN=x");
    await make("denied", "/CN=x");
    await make("pending", "/CN=x");
    await decide("signed", "Approved");
    await decide("denied", "Denied");
    await issued("signed");
    plane.clock.advance(3_600_000 - 10_000);
    assert.ok((await find("signed")) !== undefined && (await find("denied")) !== undefined);
    plane.clock.advance(20_000);
    // A reconcile that read the clock before an advance waits from the moment at which it ends.
    await eventually(async () => {
      plane.clock.advance(1000);
      assert.equal(await find("signed"), undefined);
      assert.equal(await find("denied"), undefined);
    });
    assert.ok((await find("pending")) !== undefined);
    plane.clock.advance(22 * 3_600_000);
    assert.ok((await find("pending")) !== undefined);
    await eventually(async () => {
      plane.clock.advance(3_600_000);
      assert.equal(await find("pending"), undefined);
    });
  });
});
