/** The login at an issuer, in a real browser: the code flow with PKCE. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { browserMissing, ConsoleEnvironment, until } from "./console-environment.ts";
import { OidcIssuer } from "./oidc-issuer.ts";

describe("the console's login at an issuer", { skip: browserMissing, timeout: 120_000 }, () => {
  let folder: string;
  let issuer: OidcIssuer;
  let environment: ConsoleEnvironment;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "console-oidc-"));
    issuer = await OidcIssuer.start(folder);
    environment = await ConsoleEnvironment.open([], {
      oidcIssuerUrl: issuer.url,
      oidcClientId: "console",
      oidcCaFile: issuer.caFile,
      oidcUsernamePrefix: "oidc:",
    });
  });
  after(async () => {
    await environment.close();
    issuer.close();
    await rm(folder, { recursive: true });
  });

  it("leads back to the place that was asked for, and tokens are renewed", async () => {
    // A token that is about to expire is renewed at once.
    issuer.lifetimeSeconds = 61;
    const page = await environment.page("c/root/list/configmaps?ns=default", "");
    await page.getByRole("button", { name: /^Log in at 127\.0\.0\.1/ }).click();
    await page.getByText("oidc:alice", { exact: true }).waitFor();
    assert.match(page.url(), /\/console\/c\/root\/list\/configmaps\?ns=default$/);
    await until("the token is renewed", async () => issuer.tokenRequests.length > 1);
    const [first, second] = issuer.tokenRequests;
    assert.equal(first?.get("grant_type"), "authorization_code");
    assert.equal(first?.get("client_secret"), null, "a public client has no secret");
    assert.equal(second?.get("refresh_token"), "again");
    assert.deepEqual(environment.problems, []);
    await page.close();
  });

  it("an answer to a login that this page has not begun is refused", async () => {
    const page = await environment.page("", "");
    await page.evaluate(
      'sessionStorage.setItem("kcp-console-login", JSON.stringify({ state: "mine", nonce: "n", verifier: "v", returnTo: "/console/" }))',
    );
    await page.goto(`${environment.plane.url}/console/?code=stolen&state=other`);
    await page.getByText("the login was begun by another page").waitFor();
    await page.close();
  });
});
