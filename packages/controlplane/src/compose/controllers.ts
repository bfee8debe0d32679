/** The control loops of the server itself, in its own process: they speak to it as clients do, and could as well be elsewhere. */
import {
  type ErrorContext,
  type IssueToken,
  runControlLoops,
  type SignCertificate,
} from "@kcp-ts/controllers";
import type { Clock } from "@kcp-ts/machinery/base";
import { isStatusError } from "@kcp-ts/machinery/status";
import { Client, formatKey } from "@kcp-ts/sdk";
import type { ApiServer, ServerLog } from "@kcp-ts/server";
import { inProcessTransport } from "./in-process-transport.ts";
import type { InternalCredential } from "./internal-credential.ts";

export interface ControllersOptions {
  /** Started. */
  readonly server: Pick<ApiServer, "handle">;
  readonly credential: Pick<InternalCredential, "authorization">;
  /** What clients verify this server by. */
  readonly caPem: string;
  readonly issueToken?: IssueToken | undefined;
  readonly signCertificate?: SignCertificate | undefined;
  readonly log: Pick<ServerLog, "debug" | "warn" | "error">;
  readonly clock: Clock;
}

export interface RunningControllers {
  /** Finishes what is under way, then resolves. */
  stop(): Promise<void>;
}

export function startControllers(options: ControllersOptions): RunningControllers {
  const { server, credential, caPem, issueToken, signCertificate, log, clock } = options;
  const { authorization } = credential;
  const transport = inProcessTransport({ server, authorization });
  const client = new Client({ transport, clock, userAgent: "kcp-controllers" });
  const onError = (error: unknown, { controller, key }: ErrorContext) => {
    const fields = {
      err: error,
      controller,
      ...(key === undefined ? {} : { key: formatKey(key) }),
    };
    // Somebody else wrote first: the next try sees what they wrote.
    if (isStatusError(error, "Conflict")) log.debug(fields, "a controller was overtaken");
    else log.warn(fields, "a controller tries again");
  };
  const stopping = new AbortController();
  const running = runControlLoops(
    { client, caPem, issueToken, signCertificate, clock, onError },
    stopping.signal,
  ).catch((error: unknown) => {
    if (!stopping.signal.aborted) log.error({ err: error }, "the controllers have ended");
  });
  return {
    async stop() {
      stopping.abort();
      await running;
      await transport.close();
    },
  };
}
