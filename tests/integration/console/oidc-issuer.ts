/**
 * An OIDC issuer over TLS that lets everybody in as alice: with a code and PKCE, and with refresh
 * tokens. It refuses a verifier that does not belong to the challenge.
 */
import { createHash, createPublicKey, generateKeyPairSync, randomUUID, sign } from "node:crypto";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { systemClock } from "@kcp-ts/machinery/base";
import { createCertificateAuthority, exportKey, generateKey, issueCertificate } from "@kcp-ts/pki";

interface Login {
  readonly challenge: string;
  readonly nonce: string;
}

export class OidcIssuer {
  readonly caFile: string;
  readonly #server: Server;
  readonly #key = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
  readonly #logins = new Map<string, Login>();
  /** The parameters of every request for tokens. */
  readonly tokenRequests: URLSearchParams[] = [];
  lifetimeSeconds = 600;

  static async start(folder: string): Promise<OidcIssuer> {
    const now = systemClock.now();
    const authority = createCertificateAuthority({ commonName: "issuer-ca", now });
    const key = generateKey();
    const { certificatePem } = issueCertificate({
      authority,
      subject: { commonName: "issuer" },
      purposes: ["serverAuth"],
      hostnames: ["127.0.0.1"],
      key,
      now,
    });
    const caFile = join(folder, "issuer-ca.crt");
    await writeFile(caFile, authority.certificatePem);
    const issuer = new OidcIssuer(
      caFile,
      createServer({ cert: certificatePem, key: exportKey(key) }),
    );
    issuer.#server.listen(0, "127.0.0.1");
    await once(issuer.#server, "listening");
    return issuer;
  }

  private constructor(caFile: string, server: Server) {
    this.caFile = caFile;
    this.#server = server;
    server.on("request", (request, response) => {
      const send = (status: number, body: object, headers: Record<string, string> = {}) =>
        response
          .writeHead(status, { "access-control-allow-origin": "*", ...headers })
          .end(JSON.stringify(body));
      const url = new URL(request.url ?? "", this.url);
      if (url.pathname === "/.well-known/openid-configuration") send(200, this.#document());
      else if (url.pathname === "/keys") send(200, { keys: [this.#publicKey()] });
      else if (url.pathname === "/authorize")
        send(302, {}, { location: this.#authorize(url.searchParams) });
      else
        text(request).then(
          (body) => send(...this.#tokens(new URLSearchParams(body))),
          (error: unknown) => send(500, { error: String(error) }),
        );
    });
  }

  get url(): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #document() {
    return {
      issuer: this.url,
      jwks_uri: `${this.url}/keys`,
      authorization_endpoint: `${this.url}/authorize`,
      token_endpoint: `${this.url}/token`,
    };
  }

  #publicKey() {
    return { ...createPublicKey(this.#key).export({ format: "jwk" }), kid: "k", use: "sig" };
  }

  #authorize(query: URLSearchParams): string {
    const code = randomUUID();
    const challenge = query.get("code_challenge") ?? "";
    this.#logins.set(code, { challenge, nonce: query.get("nonce") ?? "" });
    const back = new URL(query.get("redirect_uri") ?? "");
    back.searchParams.set("code", code);
    back.searchParams.set("state", query.get("state") ?? "");
    return back.href;
  }

  #tokens(form: URLSearchParams): [number, object] {
    this.tokenRequests.push(form);
    if (form.get("grant_type") === "refresh_token") return [200, this.#issue("")];
    const login = this.#logins.get(form.get("code") ?? "");
    this.#logins.delete(form.get("code") ?? "");
    const verifier = form.get("code_verifier") ?? "";
    const challenge = createHash("sha256").update(verifier).digest("base64url");
    if (login?.challenge !== challenge) return [400, { error: "invalid_grant" }];
    return [200, this.#issue(login.nonce)];
  }

  #issue(nonce: string) {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const exp = Math.floor(systemClock.now() / 1000) + this.lifetimeSeconds;
    const claims = { iss: this.url, aud: "console", sub: "alice", exp, nonce };
    const signed = `${part({ alg: "RS256", kid: "k" })}.${part(claims)}`;
    const signature = sign("sha256", Buffer.from(signed), this.#key).toString("base64url");
    return { id_token: `${signed}.${signature}`, refresh_token: "again" };
  }
}
