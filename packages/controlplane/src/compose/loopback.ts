/**
 * The in-process transport to this server: components of the server get it before the server
 * exists, and use it when the server is ready.
 */
import type { Clock, Random } from "@kcp-ts/machinery/base";
import { Client } from "@kcp-ts/sdk";
import { serverTransport } from "@kcp-ts/sdk/client";
import type { Handle } from "./extensions.ts";

export interface LoopbackOptions {
  readonly clock: Clock;
  readonly random: Random;
}

export class Loopback {
  readonly #options: LoopbackOptions;
  #server: Handle | undefined;

  constructor(options: LoopbackOptions) {
    this.#options = options;
  }

  readonly handle: Handle = (request) => {
    if (this.#server === undefined) throw new Error("a client in this process is used too early");
    return this.#server(request);
  };

  leadTo(server: Handle): void {
    this.#server = server;
  }

  client(authorization: string): Client {
    return new Client({
      ...this.#options,
      transport: serverTransport({ server: this, authorization }),
    });
  }
}
