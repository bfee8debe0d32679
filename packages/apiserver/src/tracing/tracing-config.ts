/** TracingConfiguration of kube-apiserver: where spans go, and how many requests have one. */
import { isJsonObject, type JsonValue } from "@kcp-ts/machinery/json";

export interface TracingConfig {
  /** Of OTLP over HTTP. */
  readonly endpoint: URL;
  readonly samplingRatePerMillion: number;
}

export class TracingConfigError extends Error {
  override readonly name = "TracingConfigError";
}

const apiVersions = new Set(
  ["v1", "v1beta1", "v1alpha1"].map((one) => `apiserver.config.k8s.io/${one}`),
);
const defaultEndpoint = "http://localhost:4318";
const tracesPath = "/v1/traces";

export function parseTracingConfig(document: JsonValue | undefined): TracingConfig {
  if (document === undefined || !isJsonObject(document))
    throw new TracingConfigError("the TracingConfiguration is not an object");
  const { apiVersion, kind, endpoint = defaultEndpoint, samplingRatePerMillion = 0 } = document;
  if (kind !== "TracingConfiguration" || !apiVersions.has(String(apiVersion)))
    throw new TracingConfigError(
      "expected kind TracingConfiguration of apiserver.config.k8s.io/v1",
    );
  const rate = Number(samplingRatePerMillion);
  if (!Number.isInteger(rate) || rate < 0 || rate > 1_000_000)
    throw new TracingConfigError("samplingRatePerMillion: expected 0 to 1000000");
  return { endpoint: endpointOf(String(endpoint)), samplingRatePerMillion: rate };
}

/** `host:port` is a collector without TLS; a URL without a path gets that of OTLP. */
function endpointOf(text: string): URL {
  const whole = text.includes("://") ? text : `http://${text}`;
  if (!URL.canParse(whole) || !/^https?:/.test(whole))
    throw new TracingConfigError(`endpoint: ${text}; expected http://collector:4318`);
  const made = new URL(whole);
  if (made.pathname === "/") made.pathname = tracesPath;
  return made;
}
