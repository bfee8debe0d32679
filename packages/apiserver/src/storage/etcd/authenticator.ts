/**
 * Exchanges user and password for a token, once for all calls; a stale token is replaced by the
 * next call.
 */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { type Clock, neverAborted } from "@kcp-ts/machinery/base";
import { type Connection, callUnary, GrpcError } from "../../grpc/index.ts";
import { AuthenticateRequestSchema, AuthenticateResponseSchema } from "./generated/etcd_pb.ts";

export interface AuthenticatorOptions {
  readonly clock: Clock;
  readonly requestTimeoutMs: number;
  readonly credentials?: { readonly username: string; readonly password: string } | undefined;
}

export class Authenticator {
  readonly #options: AuthenticatorOptions;
  #asking: Promise<string | undefined> | undefined;
  #token: string | undefined;

  constructor(options: AuthenticatorOptions) {
    this.#options = options;
  }

  /** The token for calls; undefined when none is needed. Tokens are valid for all members. */
  async token(connection: Connection): Promise<string | undefined> {
    if (this.#options.credentials === undefined) return undefined;
    if (this.#asking !== undefined) return this.#asking;
    const asking = this.#authenticate(connection, this.#options.credentials);
    this.#asking = asking;
    try {
      const token = await asking;
      if (this.#asking === asking) this.#token = token;
      return token;
    } catch (error) {
      if (this.#asking === asking) this.#asking = undefined;
      throw error;
    }
  }

  get current(): string | undefined {
    return this.#token;
  }

  /** Drops a rejected token. Of many calls with the same token, only the first drops it. */
  forget(stale: string | undefined): void {
    if (stale !== this.#token) return;
    this.#token = undefined;
    this.#asking = undefined;
  }

  async #authenticate(
    connection: Connection,
    { username, password }: { readonly username: string; readonly password: string },
  ): Promise<string | undefined> {
    const request = create(AuthenticateRequestSchema, { name: username, password });
    try {
      const answer = await callUnary(
        connection,
        "/etcdserverpb.Auth/Authenticate",
        toBinary(AuthenticateRequestSchema, request),
        {
          clock: this.#options.clock,
          timeoutMs: this.#options.requestTimeoutMs,
          signal: neverAborted,
          metadata: {},
        },
      );
      return fromBinary(AuthenticateResponseSchema, answer).token;
    } catch (error) {
      // Credentials for an etcd without authentication are ignored, as in etcd's own client.
      if (error instanceof GrpcError && error.message.includes("authentication is not enabled"))
        return undefined;
      throw error;
    }
  }
}
