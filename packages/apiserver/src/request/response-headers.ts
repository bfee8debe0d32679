/** The headers of an answer, names in lower case. Those without a value are not sent. */
export type ResponseHeaders = Record<string, string | string[] | undefined>;

/**
 * What most answers carry has its place from the start: to grow by one header at a time, in each of the places that know one, cost a create
 * a twentieth of its time.
 */
export function responseHeaders(contentType: string): ResponseHeaders {
  return {
    "audit-id": undefined,
    "cache-control": undefined,
    "content-type": contentType,
    "x-kubernetes-pf-flowschema-uid": undefined,
    "x-kubernetes-pf-prioritylevel-uid": undefined,
    date: undefined,
    "content-length": undefined,
  };
}

/** The same for those who cannot leave out what has no value. */
export function sentHeaders(headers: ResponseHeaders): Record<string, string | string[]> {
  const sent: Record<string, string | string[]> = {};
  for (const name in headers) {
    const value = headers[name];
    if (value !== undefined) sent[name] = value;
  }
  return sent;
}
