import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  AuthenticationConfigurationError,
  adminTokens,
  hashToken,
  StaticTokenAuthenticator,
} from "./index.ts";

describe("static tokens", () => {
  it("of the administrators give kcp-admin and shard-admin their groups", () => {
    const authenticator = new StaticTokenAuthenticator(
      adminTokens({ adminTokenHash: hashToken("one"), shardAdminTokenHash: hashToken("two") }),
    );
    assert.deepEqual(authenticator.authenticateToken("one"), {
      username: "kcp-admin",
      groups: ["system:kcp:admin", "system:authenticated"],
    });
    assert.deepEqual(authenticator.authenticateToken("two"), {
      username: "shard-admin",
      groups: ["system:masters", "system:authenticated"],
    });
    assert.equal(authenticator.authenticateToken("three"), undefined);
  });

  it("differ from their hashes: a reader of the store cannot authenticate with a hash", () => {
    const tokenHash = hashToken("one");
    const user = { username: "alice", groups: [] };
    const authenticator = new StaticTokenAuthenticator([{ tokenHash, user }]);
    assert.equal(authenticator.authenticateToken(tokenHash), undefined);
    assert.notEqual(authenticator.authenticateToken("one"), undefined);
  });

  it("are rejected at the start when a hash is invalid", () => {
    for (const tokenHash of ["", "one", hashToken("one").toUpperCase(), `${hashToken("one")}0`]) {
      assert.throws(
        () => new StaticTokenAuthenticator([{ tokenHash, user: { username: "a", groups: [] } }]),
        AuthenticationConfigurationError,
      );
    }
  });
});
