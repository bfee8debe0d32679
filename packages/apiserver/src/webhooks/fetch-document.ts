/**
 * Fetches JSON documents over HTTPS from hosts that tenants name: bounded in time and size, without
 * redirects.
 */
import { request } from "node:https";
import type { LookupFunction } from "node:net";
import type { Clock } from "@kcp-ts/machinery/base";
import { bounds, parseBounded } from "@kcp-ts/machinery/bounds";
import { deniedHostError, restrictedLookup } from "./private-addresses.ts";
import { receiveResponse } from "./webhook-response.ts";

export interface DocumentOptions {
  readonly clock: Clock;
  /** Rejects hosts on this machine, in its network and at link-local addresses. */
  readonly denyPrivateAddresses?: boolean;
  readonly resolve?: LookupFunction;
}

const fetchTimeoutMs = 10_000;

type Fetch = (
  url: string,
  options: { readonly certificateAuthority: string | undefined },
) => Promise<unknown>;

export function tenantDocuments(options: DocumentOptions): Fetch {
  const { clock, denyPrivateAddresses = false } = options;
  const lookup = restrictedLookup(options.resolve);
  return (text, { certificateAuthority }) =>
    new Promise((resolve, reject) => {
      const url = new URL(text);
      const refused = denyPrivateAddresses ? deniedHostError(url.hostname) : undefined;
      if (refused !== undefined) return reject(refused);
      const fail = (error: Error) => {
        timer.cancel();
        reject(new Error(`GET ${text}: ${error.message}`, { cause: error }));
        call.destroy();
      };
      const call = request(url, {
        // A pooled connection to this name may go to an address that the name had earlier.
        agent: false,
        headers: { accept: "application/json" },
        ...(certificateAuthority === undefined ? {} : { ca: certificateAuthority }),
        ...(denyPrivateAddresses ? { lookup } : {}),
      });
      const timer = clock.schedule(fetchTimeoutMs, () => fail(new Error("no answer in time")));
      call.on("error", fail);
      call.on("response", (response) => {
        receiveResponse(response, bounds.issuerDocument).then((answer) => {
          timer.cancel();
          if (answer.code !== 200) return fail(new Error(`status ${answer.code}`));
          if (answer.text === undefined) return fail(new Error("invalid UTF-8"));
          try {
            resolve(parseBounded(bounds.issuerDocument, answer.text));
          } catch (error) {
            fail(error as Error);
          }
          return undefined;
        }, fail);
      });
      call.end();
      return undefined;
    });
}
