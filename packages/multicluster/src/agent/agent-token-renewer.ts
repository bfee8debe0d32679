/**
 * The renewal of an agent's token by the agent itself: long before the token expires, the agent
 * requests another one and writes it to its Secret in the cluster, which is mounted as the file
 * that requests read the token from. The renewal works as long as the account exists, whether or
 * not the control plane can connect to the cluster.
 */
import { readFile } from "node:fs/promises";
import type { Clock, Random } from "@kcp-ts/machinery/base";
import { type Client, pause } from "@kcp-ts/sdk";
import { syncerFieldManager } from "../api/index.ts";
import { secrets } from "./agent-objects.ts";
import { isDueForRenewal, readToken, requestToken, type TokenClaims } from "./agent-token.ts";

export interface AgentTokenRenewerOptions {
  readonly tokenFile: string;
  /** The Secret that the token file is mounted from. */
  readonly secret: { readonly namespace: string; readonly name: string };
  /** A client for the logical cluster of the account. */
  readonly upstream: Client;
  readonly downstream: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly onError: (error: unknown) => void;
  readonly onRenewed?: ((expiresAtMs: number) => void) | undefined;
}

/** The share of its lifetime after which kubelets renew a token, too. */
const renewAtShare = 0.8;
const lookMs = 30_000;
/** The shortest lifetime of a token. */
const secondsMin = 600;

export class AgentTokenRenewer {
  readonly #options: AgentTokenRenewerOptions;
  /**
   * The token that was requested last: until its file is mounted, another request would not help.
   */
  #asked: TokenClaims | undefined;

  constructor(options: AgentTokenRenewerOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, onError } = this.#options;
    while (!signal.aborted) {
      try {
        await this.renewIfDue(signal);
      } catch (error) {
        if (!signal.aborted) onError(error);
      }
      try {
        await pause(clock, lookMs * (0.8 + 0.4 * random.next()), signal);
      } catch (error) {
        if (!signal.aborted) throw error;
      }
    }
  }

  /** Renews the token if it is due. */
  async renewIfDue(signal: AbortSignal): Promise<void> {
    const { tokenFile, secret, upstream, downstream, clock, onRenewed } = this.#options;
    const facts = readToken(await readFile(tokenFile, "utf8"));
    if (facts === undefined) throw new Error(`${tokenFile} holds no token of a ServiceAccount`);
    const newest =
      this.#asked !== undefined && this.#asked.expiresAtMs > facts.expiresAtMs
        ? this.#asked
        : facts;
    if (!isDueForRenewal(newest, clock.now(), renewAtShare)) return;
    const seconds = Math.round((facts.expiresAtMs - facts.issuedAtMs) / 1000);
    const expirationSeconds = Math.max(seconds, secondsMin);
    const token = await requestToken(upstream, facts, { expirationSeconds, signal });
    const data = { token: Buffer.from(token, "utf8").toString("base64") };
    const options = { fieldManager: syncerFieldManager, signal };
    const resource = downstream.resource(secrets);
    const found = await resource.get(secret, { signal });
    await resource.sameObject(found).mergePatch({ data }, options);
    this.#asked = readToken(token);
    onRenewed?.(this.#asked?.expiresAtMs ?? 0);
  }
}
