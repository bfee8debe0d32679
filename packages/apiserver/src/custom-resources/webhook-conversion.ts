/**
 * Conversion by webhook: sends objects in one version and expects the same objects in another
 * version.
 *
 * A webhook is untrusted: its response is limited in time and size, and may change labels and
 * annotations but no other metadata.
 */
import { randomUUID } from "node:crypto";
import { bounds } from "@kcp-ts/machinery/bounds";
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { annotationErrors, labelErrors } from "@kcp-ts/machinery/meta";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { aggregate, formatFieldError, quote, StatusError } from "@kcp-ts/machinery/status";
import type { WebhookClient } from "../webhooks/index.ts";
import type { Conversion } from "./conversion.ts";
import type { SharedDefinition } from "./shared-definition.ts";

export class WebhookConversion implements Conversion {
  readonly #client: WebhookClient;

  constructor(client: WebhookClient) {
    this.#client = client;
  }

  async convert(
    definition: SharedDefinition,
    objects: readonly JsonObject[],
    apiVersion: string,
    owner: ClusterName,
  ): Promise<readonly JsonObject[]> {
    const others = objects.filter((object) => object["apiVersion"] !== apiVersion);
    const first = others[0];
    if (first === undefined) return objects;
    const gvk = `${String(first["apiVersion"])}, Kind=${definition.names.kind}`;
    const failed = (text: string) => failure(`conversion webhook for ${gvk} ${text}`);
    const answer = await this.#ask(definition, others, apiVersion, owner).catch((error) => {
      throw failed(`failed: ${error instanceof Error ? error.message : String(error)}`);
    });
    if (answer.length !== others.length)
      throw failed(`returned ${answer.length} objects, expected ${others.length}`);
    const converted = new Map<JsonObject, JsonObject>();
    for (const [i, original] of others.entries()) {
      const complaint = (what: string, why: string) =>
        others.length === 1
          ? failed(`returned invalid ${what}: ${why}`)
          : failed(
              `returned invalid ${what === "object" ? "converted object" : `${what} in object`} at index ${i}: ${why}`,
            );
      const result = answer[i] as JsonValue;
      if (!isJsonObject(result)) throw complaint("object", "it is no object");
      const wrong = difference(original, result, apiVersion);
      if (wrong !== undefined) throw complaint("object", wrong);
      const metadata = restoreMetadata(original, result);
      if (typeof metadata === "string") throw complaint("metadata", metadata);
      converted.set(original, { ...result, metadata });
    }
    return objects.map((object) => converted.get(object) ?? object);
  }

  async #ask(
    { conversion }: SharedDefinition,
    objects: readonly JsonObject[],
    desiredAPIVersion: string,
    cluster: ClusterName,
  ): Promise<readonly JsonValue[]> {
    const { clientConfig, reviewVersions = [] } = conversion ?? {};
    if (clientConfig === undefined) throw new Error("no webhook is configured");
    const version = reviewVersions.find((each) => each === "v1" || each === "v1beta1") ?? "v1";
    const apiVersion = `apiextensions.k8s.io/${version}`;
    const uid = randomUUID();
    const request = { uid, desiredAPIVersion, objects };
    const review = { kind: "ConversionReview", apiVersion, request };
    const answer = await this.#client.post(clientConfig, review, {
      answer: bounds.conversionAnswer,
      cluster,
    });
    return convertedObjects(answer, apiVersion, uid);
  }
}

/** A failed conversion is not the fault of the request, and only its message helps. */
function failure(message: string): StatusError {
  return new StatusError({ code: 500, reason: "InternalError", message });
}

function convertedObjects(
  review: JsonObject,
  apiVersion: string,
  uid: string,
): readonly JsonValue[] {
  const shown = ({ apiVersion: version, kind }: JsonObject) =>
    `${String(version)}, Kind=${String(kind)}`;
  const expected = { kind: "ConversionReview", apiVersion };
  if (review["kind"] !== expected.kind || review["apiVersion"] !== apiVersion)
    throw new Error(`expected webhook response of ${shown(expected)}, got ${shown(review)}`);
  const { response } = review;
  if (!isJsonObject(response)) throw new Error("no response provided");
  if (response["uid"] !== uid)
    throw new Error(`expected response.uid=${quote(uid)}, got ${quote(String(response["uid"]))}`);
  const result = isJsonObject(response["result"]) ? response["result"] : {};
  if (result["status"] !== "Success") {
    const { message, status = "" } = result;
    throw new Error(
      typeof message === "string" && message !== ""
        ? message
        : `response.result.status was '${String(status)}', not 'Success'`,
    );
  }
  const objects = response["convertedObjects"];
  return Array.isArray(objects) ? (objects as readonly JsonValue[]) : [];
}

/** The difference that a conversion must not make, or undefined if there is none. */
function difference(
  original: JsonObject,
  converted: JsonObject,
  apiVersion: string,
): string | undefined {
  if (converted["apiVersion"] !== apiVersion)
    return `invalid groupVersion (expected ${apiVersion}, received ${String(converted["apiVersion"])})`;
  const text = (value: JsonValue | undefined) => (typeof value === "string" ? value : "");
  const before = original["metadata"] as JsonObject;
  const after = isJsonObject(converted["metadata"]) ? converted["metadata"] : {};
  const pairs: [what: string, before: JsonValue | undefined, after: JsonValue | undefined][] = [
    ["kind", original["kind"], converted["kind"]],
    ["name", before["name"], after["name"]],
    ["namespace", before["namespace"], after["namespace"]],
    ["UID", before["uid"], after["uid"]],
  ];
  for (const [what, old, now] of pairs)
    if (text(old) !== text(now)) return `must have the same ${what}: ${text(old)} != ${text(now)}`;
  return undefined;
}

/**
 * The original metadata with the labels and annotations of the converted object, or the error in
 * these.
 */
function restoreMetadata(original: JsonObject, converted: JsonObject): JsonObject | string {
  const { metadata } = converted;
  if (metadata === undefined) return "missing metadata in converted object";
  if (!isJsonObject(metadata)) return "invalid metadata in converted object";
  const { labels: _l, annotations: _a, ...kept } = original["metadata"] as JsonObject;
  const restored: { [key: string]: JsonValue } = { ...kept };
  for (const field of ["labels", "annotations"] as const) {
    const map = metadata[field];
    if (map === undefined || map === null) continue;
    if (!isJsonObject(map)) return `invalid metadata.${field} in converted object`;
    for (const key of Object.keys(map))
      if (typeof map[key] !== "string")
        return `metadata.${field}[${key}] must be a string in converted object`;
    const texts = map as Readonly<Record<string, string>>;
    const path = `metadata.${field}`;
    const errors = field === "labels" ? labelErrors(texts, path) : annotationErrors(texts, path);
    if (errors.length > 0) return aggregate(errors.map(formatFieldError));
    restored[field] = map;
  }
  return restored;
}
