/**
 * A CustomResourceDefinition (apiextensions.k8s.io/v1) as this folder reads it. Schemas stay JSON
 * until they are needed.
 */
import type { JsonValue } from "../json/index.ts";

export interface CustomResourceDefinition {
  readonly name: string;
  readonly annotations: ReadonlyMap<string, string>;
  readonly spec: CrdSpec;
  readonly status: CrdStatus;
}

export interface CrdSpec {
  readonly group: string;
  readonly names: CrdNames;
  readonly scope: string;
  readonly versions: readonly CrdVersion[];
  readonly conversion: CrdConversion | undefined;
  readonly preserveUnknownFields: boolean;
}

export interface CrdNames {
  readonly plural: string;
  readonly singular: string;
  readonly kind: string;
  readonly listKind: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
}

export interface CrdVersion {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  readonly deprecated: boolean;
  readonly deprecationWarning: string | undefined;
  /** `schema.openAPIV3Schema`. */
  readonly schema: JsonValue | undefined;
  readonly subresources: CrdSubresources | undefined;
  readonly printerColumns: readonly PrinterColumn[];
  /** JSONPaths. */
  readonly selectableFields: readonly string[];
}

export interface CrdSubresources {
  readonly status: boolean;
  readonly scale: ScalePaths | undefined;
}

export interface ScalePaths {
  readonly specReplicasPath: string;
  readonly statusReplicasPath: string;
  readonly labelSelectorPath: string | undefined;
}

export interface PrinterColumn {
  readonly name: string;
  readonly type: string;
  readonly format: string;
  readonly description: string;
  readonly priority: number;
  readonly jsonPath: string;
}

export interface CrdConversion {
  readonly strategy: string;
  readonly clientConfig: WebhookClientConfig | undefined;
  readonly reviewVersions: readonly string[];
}

export interface WebhookClientConfig {
  readonly url: string | undefined;
  readonly service: WebhookService | undefined;
  /** Base64 of PEM, as it is in the JSON. */
  readonly caBundle: string;
}

export interface WebhookService {
  readonly namespace: string;
  readonly name: string;
  readonly path: string | undefined;
  readonly port: number;
}

export interface CrdStatus {
  readonly acceptedNames: CrdNames;
  readonly storedVersions: readonly string[];
  readonly established: boolean;
}
