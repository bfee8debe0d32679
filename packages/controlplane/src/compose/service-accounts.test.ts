/**
 * Goal: keys of tokens survive restarts, can be rotated, and are rejected when they are removed
 * from their file.
 */
import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { isAuthenticationError, type UserInfo } from "@kcp-ts/apiserver";
import { rootCluster } from "@kcp-ts/machinery/names";
import { FileWatch } from "@kcp-ts/pki";
import { FakeClock } from "@kcp-ts/testkit";
import {
  composeServiceAccounts,
  type ServiceAccountOptions,
  type ServiceAccounts,
} from "./service-accounts.ts";

describe("the keys of service accounts", () => {
  let folder: string;
  const clock = new FakeClock();
  const errors: unknown[] = [];
  let files: FileWatch;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "sa-"));
    files = new FileWatch({ clock, onError: (error) => errors.push(error) });
  });
  afterEach(async () => {
    files.stop();
    await rm(folder, { recursive: true });
  });

  const compose = (options: ServiceAccountOptions = {}) =>
    composeServiceAccounts(options, { rootDirectory: folder, clock, files });
  const tokenOf = ({ issuer }: ServiceAccounts) =>
    issuer.issue({
      account: { cluster: rootCluster, namespace: "ns", name: "sa", uid: "u" },
      audiences: issuer.audiences,
      expirationSeconds: 600,
    }).token;
  const accepts = (accounts: ServiceAccounts, token: string): boolean => {
    const getter = () => () => ({ uid: "u", deletedAt: undefined, token: undefined });
    try {
      const user = accounts.authenticator({ getter }).authenticateToken(token);
      return (user as UserInfo | undefined) !== undefined;
    } catch (error) {
      if (isAuthenticationError(error)) return false;
      throw error;
    }
  };
  const path = (name: string) => join(folder, name);
  async function writeKey(name: string, type: "rsa" | "ec"): Promise<string> {
    const { privateKey } =
      type === "rsa"
        ? generateKeyPairSync("rsa", { modulusLength: 2048 })
        : generateKeyPairSync("ec", { namedCurve: "P-384" });
    await writeFile(path(name), privateKey.export({ type: "pkcs8", format: "pem" }));
    return path(name);
  }

  it("are created once, readable by their owner alone", async () => {
    const token = tokenOf(await compose());
    const pem = await readFile(path("sa.key"), "utf8");
    assert.equal((await stat(path("sa.key"))).mode & 0o777, 0o600);
    assert.ok(accepts(await compose(), token));
    assert.equal(await readFile(path("sa.key"), "utf8"), pem);
  });

  it("can be the operator's, of either type, with further keys for verification", async () => {
    const [old, current] = [await writeKey("old", "rsa"), await writeKey("current", "ec")];
    const before = await compose({ serviceAccountSigningKeyFile: old });
    const token = tokenOf(before);
    const rotated = { serviceAccountSigningKeyFile: current };
    assert.ok(!accepts(await compose(rotated), token));
    const both = await compose({ ...rotated, serviceAccountKeyFiles: [old] });
    assert.ok(accepts(both, token) && accepts(both, tokenOf(both)));
    assert.equal(both.keys().length, 2);
  });

  it("are replaced as soon as their file changes, and stay when it is invalid", async () => {
    const [old, current] = [await writeKey("old", "ec"), await writeKey("current", "ec")];
    const token = tokenOf(await compose({ serviceAccountSigningKeyFile: old }));
    const accounts = await compose({
      serviceAccountSigningKeyFile: current,
      serviceAccountKeyFiles: [old],
    });
    assert.ok(accepts(accounts, token));
    await writeFile(old, "not a key");
    await files.check();
    assert.ok(accepts(accounts, token));
    assert.ok(errors.length > 0);
    await writeKey("old", "rsa");
    await files.check();
    assert.ok(!accepts(accounts, token));
    const before = tokenOf(accounts);
    await writeKey("current", "rsa");
    await files.check();
    assert.ok(!accepts(accounts, before) && accepts(accounts, tokenOf(accounts)));
  });

  it("go with the configured issuers and audiences", async () => {
    const first = await compose({ serviceAccountIssuers: ["https://a"] });
    const token = tokenOf(first);
    assert.deepEqual(first.audiences, ["https://a"]);
    const apiAudiences = ["https://a"];
    const renamed = await compose({ serviceAccountIssuers: ["https://b"], apiAudiences });
    assert.ok(!accepts(renamed, token));
    const both = await compose({ serviceAccountIssuers: ["https://b", "https://a"], apiAudiences });
    assert.ok(accepts(both, token));
    assert.ok(
      !accepts(await compose({ serviceAccountIssuers: ["https://b", "https://a"] }), token),
    );
    both.servedAt("https://here:1");
    assert.deepEqual(
      (both.documents.configuration() as { jwks_uri: string }).jwks_uri,
      "https://here:1/openid/v1/jwks",
    );
  });

  it("that are invalid fail the start, and the error names the file", async () => {
    await writeFile(path("bad"), "x");
    const bad = { serviceAccountSigningKeyFile: path("bad") };
    await assert.rejects(compose(bad), /bad: is not a private key/);
    await assert.rejects(compose({ serviceAccountKeyFiles: [path("bad")] }), /holds no key in PEM/);
    await assert.rejects(compose({ serviceAccountKeyFiles: [path("no")] }), /no such file/);
  });
});
