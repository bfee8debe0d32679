/**
 * A transport whose requests carry credentials; a request that is rejected with 401 is retried once
 * with new credentials, if there are any.
 */
import type {
  RequestHeaders,
  Transport,
  TransportRequest,
  TransportResponse,
  UpgradeResponse,
} from "../client/index.ts";
import type { Credentials } from "./credentials.ts";
import type { Impersonation } from "./kubeconfig.ts";

export function authenticatedTransport(
  transport: Transport,
  credentials: Credentials,
  impersonate?: Impersonation,
): Transport {
  const extra = impersonate === undefined ? {} : impersonationHeaders(impersonate);
  const sendWith = (request: TransportRequest, headers: RequestHeaders) =>
    transport.send({ ...request, headers: Object.assign({}, request.headers, extra, headers) });
  const upgrade = transport.upgrade?.bind(transport);
  return {
    ...(upgrade === undefined
      ? {}
      : {
          async upgrade(request: TransportRequest): Promise<UpgradeResponse> {
            const headers = await credentials.headers();
            return upgrade({ ...request, headers: { ...request.headers, ...extra, ...headers } });
          },
        }),
    async send(request): Promise<TransportResponse> {
      const response = await sendWith(request, await credentials.headers());
      if (response.status !== 401 || !(await credentials.refresh())) return response;
      await response.body.text();
      return sendWith(request, await credentials.headers());
    },
    close: () => transport.close(),
  };
}

/** Keys of extra fields may contain any character; in a header's name they are percent-encoded. */
function impersonationHeaders({ user, uid, groups, extra }: Impersonation): RequestHeaders {
  const headers: Record<string, string | readonly string[]> = { "impersonate-user": user };
  if (uid !== undefined) headers["impersonate-uid"] = uid;
  if (groups !== undefined && groups.length > 0) headers["impersonate-group"] = groups;
  for (const [key, values] of extra ?? []) {
    headers[`impersonate-extra-${encodeHeaderName(key)}`] = values;
  }
  return headers;
}

function encodeHeaderName(key: string): string {
  return encodeURIComponent(key)
    .replaceAll(/[!'()*~]/g, (char) => `%${char.charCodeAt(0).toString(16)}`)
    .toLowerCase();
}
