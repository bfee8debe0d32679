/**
 * The OpenAPI documents of simulated clusters without what no placement depends on: descriptions,
 * and the fields of Pods. Reading, storing and negotiating the whole of them takes most of the time
 * of a system, and other tests do it.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { responseBody, type Transport } from "@kcp-ts/sdk";

const opaqueModels: ReadonlySet<string> = new Set([
  "io.k8s.api.core.v1.PodSpec",
  "io.k8s.api.core.v1.PodStatus",
  "io.k8s.api.core.v1.ServiceStatus",
  "io.k8s.api.networking.v1.IngressStatus",
  "io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerSpec",
  "io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerStatus",
]);

const opaque = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

/** All simulated clusters of a release serve the same documents. */
const documents = new Map<string, string>();

export function withThinOpenApi(inner: Transport, release: string): Transport {
  return {
    close: () => inner.close(),
    async send(request) {
      const isIndex = request.path === "/openapi/v3";
      const isDocument = isIndex || request.path.startsWith("/openapi/v3/");
      const key = `${release} ${request.path}`;
      const known = isDocument ? documents.get(key) : undefined;
      if (known !== undefined)
        return {
          status: 200,
          headers: { "content-type": "application/json" },
          body: responseBody(known),
        };
      const response = await inner.send(request);
      if (!isDocument || response.status !== 200) return response;
      const whole = await response.body.text();
      const text = isIndex ? whole : JSON.stringify(thin(JSON.parse(whole)));
      documents.set(key, text);
      return { ...response, body: responseBody(text) };
    },
  };
}

function thin(document: JsonObject): JsonObject {
  const { components, ...rest } = document as { components?: { schemas?: JsonObject } };
  const schemas: Record<string, JsonValue> = {};
  for (const [name, model] of Object.entries(components?.schemas ?? {}))
    schemas[name] = opaqueModels.has(name) ? opaque : withoutDescriptions(model);
  return { ...rest, paths: {}, components: { schemas } } as JsonObject;
}

function withoutDescriptions(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(withoutDescriptions);
  if (!isJsonObject(value)) return value;
  const kept: Record<string, JsonValue> = {};
  for (const [name, member] of Object.entries(value))
    if (name !== "description" || typeof member !== "string")
      kept[name] = withoutDescriptions(member);
  return kept;
}
