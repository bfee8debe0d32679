/**
 * Goal: a proxy in front is believed when it says who asks; everybody else may write the same
 * headers and is who they are.
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it, type TestContext } from "node:test";
import { createTestAuthority, type TestAuthority } from "@kcp-ts/testkit";
import { type RawRequestOptions, startControlPlaneWithFlags } from "./started-control-plane.ts";

const reviews = "/clusters/root/apis/authentication.k8s.io/v1/selfsubjectreviews";
const said = {
  "X-Remote-User": "alice",
  "X-Remote-Uid": "42",
  "X-Remote-Group": ["team", "system:authenticated"],
  "X-Remote-Extra-Example.com%2fRole": ["one", "two"],
};

describe("an authenticating proxy", () => {
  let folder: string;
  let proxies: TestAuthority;
  let people: TestAuthority;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "proxies-"));
    proxies = createTestAuthority(folder, "proxies");
    people = createTestAuthority(folder, "people");
  });
  after(() => rmSync(folder, { recursive: true }));

  async function whoIs(t: TestContext, allowedNames: readonly string[] = []) {
    const { ask, tokenOf } = await startControlPlaneWithFlags(t, {
      clientCaFile: people.caFile,
      requestHeaderClientCaFile: proxies.caFile,
      requestHeaderAllowedNames: allowedNames,
      requestHeaderUsernameHeaders: ["X-Remote-User"],
      requestHeaderUidHeaders: ["X-Remote-Uid"],
      requestHeaderGroupHeaders: ["X-Remote-Group"],
      requestHeaderExtraHeadersPrefix: ["X-Remote-Extra-"],
    });
    const review = async (how: RawRequestOptions) => {
      const { status, body } = await ask(reviews, { ...how, method: "POST", body: {} });
      return status === 201 ? (body["status"] as Record<string, unknown>)["userInfo"] : status;
    };
    return { review, tokenOf };
  }

  it("is believed by its certificate: user, uid, groups and extras", async (t) => {
    const { review } = await whoIs(t, ["front-proxy"]);
    assert.deepEqual(await review({ ...proxies.issue("front-proxy"), headers: said }), {
      username: "alice",
      uid: "42",
      groups: ["team", "system:authenticated"],
      extra: { "example.com/role": ["one", "two"] },
    });
  });

  it("is anonymous without user headers, and cannot put users into system:masters", async (t) => {
    const { review } = await whoIs(t, ["front-proxy"]);
    const proxy = proxies.issue("front-proxy");
    assert.equal(await review(proxy), 401);
    assert.equal(await review({ ...proxy, headers: { "X-Remote-Group": "system:masters" } }), 401);
  });

  it("is not believed under another name, unless names do not matter", async (t) => {
    const other = proxies.issue("other-proxy");
    const { review } = await whoIs(t, ["front-proxy"]);
    assert.equal(await review({ ...other, headers: said }), 401);
    const anyName = await whoIs(t);
    const user = (await anyName.review({ ...other, headers: said })) as Record<string, unknown>;
    assert.equal(user["username"], "alice");
  });

  it("is only the client with the proxy's certificate: not a user with a certificate, a token, or neither", async (t) => {
    const { review, tokenOf } = await whoIs(t);
    const bob = (await review({ ...people.issue("bob"), headers: said })) as { username: string };
    assert.equal(bob.username, "bob");
    const token = await tokenOf("kcp-admin");
    const admin = (await review({ token, headers: said })) as { username: string };
    assert.equal(admin.username, "kcp-admin");
    assert.equal(await review({ headers: said }), 403, "a stranger, who may not review");
    const forged = createTestAuthority(folder, "forged").issue("front-proxy");
    assert.equal(await review({ ...forged, headers: said }), 401);
  });

  it("needs headers that have a name", async (t) => {
    await assert.rejects(
      startControlPlaneWithFlags(t, { requestHeaderUsernameHeaders: [" "] }),
      /empty value in "requestheader-username-headers"/,
    );
    await assert.rejects(
      startControlPlaneWithFlags(t, { requestHeaderUidHeaders: ["X-Uid"] }),
      /without specifying the standard X-Remote-Uid header/,
    );
  });
});
