/**
 * Pages of other sites. Browsers send their client certificate for any page that opens a WebSocket,
 * and let the page read and write messages, without a same-origin check.
 */
import {
  type ApiRequest,
  type ApiResponse,
  header,
  responseHeaders,
} from "../request/api-request.ts";

/** The answer to an upgrade that a page of another site asks for with the browser's certificate. */
export function refuseForeignPage(request: ApiRequest): ApiResponse | undefined {
  const origin = header(request.headers, "origin");
  if (origin === undefined || request.clientCertificate === undefined) return undefined;
  if (URL.canParse(origin) && new URL(origin).host === header(request.headers, "host"))
    return undefined;
  const text = "a page of another origin may not use this browser's certificate\n";
  return { status: 403, headers: responseHeaders("text/plain"), body: Buffer.from(text) };
}
