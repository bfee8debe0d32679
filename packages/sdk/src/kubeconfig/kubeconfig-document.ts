/**
 * A kubeconfig document that is written back: it keeps all content, including fields that this
 * program does not know.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import * as yaml from "js-yaml";
import { KubeconfigError } from "./fields.ts";
import { kubeconfigCharactersMax, notYaml } from "./kubeconfig.ts";

export type KubeconfigDocument = JsonObject;

export function readKubeconfigDocument(text: string): KubeconfigDocument {
  if (text.length > kubeconfigCharactersMax)
    throw new KubeconfigError(`kubeconfig is longer than ${kubeconfigCharactersMax} characters`);
  let document: unknown;
  try {
    document = yaml.load(text, { schema: yaml.JSON_SCHEMA });
  } catch (error) {
    throw notYaml(error);
  }
  if (!isJsonObject(document as JsonValue))
    throw new KubeconfigError("kubeconfig is not an object");
  return document as KubeconfigDocument;
}

export function formatKubeconfigDocument(document: KubeconfigDocument): string {
  return yaml.dump(document, { schema: yaml.JSON_SCHEMA, lineWidth: -1, noRefs: true });
}
