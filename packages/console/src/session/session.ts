/**
 * Session: the user's credentials, and clients that use them. The page has no permissions of its
 * own: without credentials there is no client.
 *
 * A pasted token is kept in the storage of this tab, and ends with it. Behind `kcp console` the
 * page holds no credentials at all.
 */

import { onAbort, systemClock } from "@kcp-ts/machinery/base";
import { bounds, parseBounded } from "@kcp-ts/machinery/bounds";
import { isStatusError } from "@kcp-ts/machinery/status";
import { Client, FetchTransport } from "@kcp-ts/sdk/client";
import { type Signal, signal } from "@preact/signals";
import type { OidcIssuer, OidcTokens } from "./oidc.ts";
import { SessionTransport } from "./session-transport.ts";

/** What the server says about itself to the page. */
export interface ConsoleConfiguration {
  readonly authentication: "token" | "proxy";
  readonly oidc?: OidcIssuer | undefined;
  readonly workspace?: string | undefined;
}

export type SessionState =
  | { readonly kind: "starting" }
  | { readonly kind: "failed"; readonly message: string }
  | {
      readonly kind: "login";
      readonly message: string | undefined;
      /** The user whose credentials have expired: the user's page waits, and is not shown. */
      readonly expiredUser?: string | undefined;
    }
  | { readonly kind: "ready"; readonly user: string };

const tokenKey = "kcp-console-token";
/** A token is renewed this long before it expires. */
const renewBeforeMs = 60_000;

export class Session {
  readonly state: Signal<SessionState> = signal<SessionState>({ kind: "starting" });
  #configuration: ConsoleConfiguration = { authentication: "token" };
  #token = "";
  /** While a user whose credentials have expired is asked to log in again. */
  #renewal: Renewal | undefined;
  /** Of one user: what this user began is never sent with the credentials of another. */
  #client: Client;
  /** Asks who the user is, while all other requests wait for the answer. */
  readonly #loginClient: Client;
  readonly #clients = new Map<string, Client>();

  constructor() {
    const headers = () => (this.#token === "" ? {} : { authorization: `Bearer ${this.#token}` });
    this.#loginClient = new Client({ transport: new FetchTransport({ headers }) });
    this.#client = this.#clientOfUser();
  }

  #clientOfUser(): Client {
    const transport = new SessionTransport(this.#loginClient.transport, {
      expired: () => {
        if (client === this.#client) this.#expired();
      },
      renewed: async (signal) => (await this.#renewed(signal)) && client === this.#client,
    });
    const client = new Client({ transport, fieldManager: "kcp-console", retriesMax: 2 });
    return client;
  }

  get configuration(): ConsoleConfiguration {
    return this.#configuration;
  }

  /** One for each logical cluster and login: so is all that is cached by client. */
  clientIn(cluster: string): Client {
    const known = this.#clients.get(cluster);
    if (known !== undefined) return known;
    const client = this.#client.inCluster(cluster);
    this.#clients.set(cluster, client);
    return client;
  }

  /** What is of the server as a whole, and of no logical cluster. */
  get server(): Client {
    return this.#client;
  }

  /**
   * Browsers send no headers of our own with a WebSocket: the token is a subprotocol. Behind
   * `kcp console` the proxy adds the credentials.
   */
  openWebSocket(cluster: string, path: string, protocol: string): WebSocket {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const url = `${scheme}://${location.host}${this.clientIn(cluster).basePath}${path}`;
    return new WebSocket(
      url,
      this.#token === "" ? protocol : [protocol, tokenProtocol(this.#token)],
    );
  }

  /** Reads the configuration, and uses the credentials that are there. */
  async start(): Promise<void> {
    try {
      const request = { method: "GET", path: "/console/config.json", headers: {} } as const;
      const { body } = await this.#loginClient.transport.send(request);
      const text = await body.text(bounds.refusal.bytesMax);
      this.#configuration = parseBounded(bounds.refusal, text) as unknown as ConsoleConfiguration;
      await this.#begin();
    } catch (error) {
      this.state.value = { kind: "failed", message: textOf(error) };
    }
  }

  async #begin(): Promise<void> {
    const { authentication, oidc } = this.#configuration;
    if (authentication === "proxy") return this.#enter();
    try {
      const query = new URLSearchParams(location.search);
      const login = oidc && (await (await loadOidc()).completeLogin(oidc, query));
      if (login !== undefined) {
        history.replaceState(null, "", login.returnTo);
        return await this.#use(login);
      }
    } catch (error) {
      history.replaceState(null, "", "/console/");
      this.state.value = { kind: "login", message: textOf(error) };
      return;
    }
    this.#token = sessionStorage.getItem(tokenKey) ?? "";
    if (this.#token === "") this.state.value = { kind: "login", message: undefined };
    else await this.#enter();
  }

  /** With the credentials of the kubeconfig, which the proxy has. */
  logInAgain(): Promise<void> {
    return this.#enter();
  }

  async logInWithToken(token: string): Promise<void> {
    this.#token = token.trim();
    await this.#enter();
    if (this.state.value.kind === "ready") sessionStorage.setItem(tokenKey, this.#token);
  }

  async logInWithOidc(): Promise<void> {
    const { oidc } = this.#configuration;
    if (oidc === undefined) return;
    try {
      await (await loadOidc()).redirectToIssuer(oidc, location.pathname + location.search);
    } catch (error) {
      this.state.value = { kind: "login", message: textOf(error) };
    }
  }

  logOut(): void {
    this.#forget();
    this.#forgetUser();
    this.state.value = { kind: "login", message: undefined };
  }

  async #use({ idToken, refreshToken }: OidcTokens): Promise<void> {
    this.#token = idToken;
    sessionStorage.setItem(tokenKey, idToken);
    if (refreshToken !== undefined) await this.#renewLater(idToken, refreshToken);
    if (this.state.value.kind !== "ready") await this.#enter();
  }

  async #renewLater(idToken: string, refreshToken: string): Promise<void> {
    const { claimsOf, refreshTokens } = await loadOidc();
    const expiresAtMs = Number(claimsOf(idToken)["exp"] ?? 0) * 1000;
    const delayMs = Math.max(1000, expiresAtMs - systemClock.now() - renewBeforeMs);
    systemClock.schedule(delayMs, () => {
      const { oidc } = this.#configuration;
      if (oidc === undefined || this.#token !== idToken) return;
      refreshTokens(oidc, refreshToken).then(
        (tokens) => this.#use({ ...tokens, refreshToken: tokens.refreshToken ?? refreshToken }),
        // The token that is there expires in a minute, and then leads to the login.
        () => undefined,
      );
    });
  }

  /** Asks the server who the user is: the one who knows. */
  async #enter(): Promise<void> {
    try {
      const review = (await this.#loginClient.json({
        method: "POST",
        path: "/apis/authentication.k8s.io/v1/selfsubjectreviews",
        body: { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" },
      })) as { status?: { userInfo?: { username?: string } } };
      const user = review.status?.userInfo?.username ?? "";
      if (user === "system:anonymous") throw new Error("the server does not know this user");
      this.#welcome(user);
    } catch (error) {
      if (isStatusError(error, "Forbidden")) this.#welcome("");
      else if (isStatusError(error, "Unauthorized"))
        this.#askForLogin("The server does not accept this token.");
      else this.#fail(textOf(error));
    }
  }

  #welcome(user: string): void {
    // The same user may have other permissions now: what is cached by client is asked for again.
    if (this.#renewal?.user === user) this.#clients.clear();
    else this.#forgetUser();
    this.state.value = { kind: "ready", user };
    this.#renewal?.end(user);
    this.#renewal = undefined;
  }

  /** The page of a user who was here waits: a login that fails can be tried again. */
  #fail(message: string): void {
    if (this.#renewal === undefined) this.state.value = { kind: "failed", message };
    else this.#askForLogin(message);
  }

  #askForLogin(message: string): void {
    this.state.value = { kind: "login", message, expiredUser: this.#renewal?.user };
  }

  /** The page stays where it is: after a login it shows the same place. */
  #expired(): void {
    const state = this.state.value;
    if (state.kind !== "ready") return;
    this.#forget();
    this.#renewal = new Renewal(state.user);
    const message =
      this.#configuration.authentication === "proxy"
        ? "The server no longer accepts the credentials of the kubeconfig."
        : "The token has expired or was revoked. Log in to continue where you were.";
    this.#askForLogin(message);
  }

  /** Waits for a login after credentials have expired: whether the same user is back. */
  async #renewed(signal: AbortSignal | undefined): Promise<boolean> {
    if (this.#renewal === undefined) return this.state.value.kind === "ready";
    let leave = () => {};
    const aborted = new Promise<never>((_, reject) => {
      leave = onAbort(signal, () => reject(signal?.reason));
    });
    try {
      return await Promise.race([this.#renewal.isSameUser, aborted]);
    } finally {
      leave();
    }
  }

  #forgetUser(): void {
    this.#clients.clear();
    this.#client = this.#clientOfUser();
  }

  #forget(): void {
    this.#token = "";
    sessionStorage.removeItem(tokenKey);
  }
}

class Renewal {
  readonly user: string;
  readonly isSameUser: Promise<boolean>;
  #resolve: (isSameUser: boolean) => void = () => {};

  constructor(user: string) {
    this.user = user;
    this.isSameUser = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  end(user: string): void {
    this.#resolve(user === this.user);
  }
}

/** Only where the server has an issuer. */
function loadOidc() {
  return import("./oidc.ts");
}

function tokenProtocol(token: string): string {
  const bytes = String.fromCharCode(...new TextEncoder().encode(token));
  const encoded = btoa(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  return `base64url.bearer.authorization.k8s.io.${encoded}`;
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
