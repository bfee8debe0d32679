/** The kinds that histories are of, and how their objects are read and written. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { KeyedState, Scope, Texts } from "@kcp-ts/testkit";

export interface RecordedKind {
  readonly kind: string;
  readonly apiVersion: string;
  /** `api/v1`, with the plural name behind the namespace. */
  readonly group: string;
  readonly plural: string;
  /** Where its texts are. */
  readonly content: "data" | "spec";
  readonly hasStatus: boolean;
  /** Whether an update needs no resourceVersion. */
  readonly updatesUnconditionally: boolean;
  /** Whether `/clusters/*` serves it: custom kinds are of one cluster each. */
  readonly isInAllClusters: boolean;
}

export const configMaps: RecordedKind = {
  kind: "ConfigMap",
  apiVersion: "v1",
  group: "api/v1",
  plural: "configmaps",
  content: "data",
  hasStatus: false,
  updatesUnconditionally: true,
  isInAllClusters: true,
};

export const widgets: RecordedKind = {
  kind: "Widget",
  apiVersion: "histories.kcp.io/v1",
  group: "apis/histories.kcp.io/v1",
  plural: "widgets",
  content: "spec",
  hasStatus: true,
  updatesUnconditionally: false,
  isInAllClusters: false,
};

const text = { type: "string" };

export const widgetDefinition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "widgets.histories.kcp.io" },
  spec: {
    group: "histories.kcp.io",
    scope: "Namespaced",
    names: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        subresources: { status: {} },
        selectableFields: [{ jsonPath: ".spec.color" }],
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              spec: {
                type: "object",
                properties: { color: text, value: text, patched: text, applied: text },
              },
              status: { type: "object", properties: { seen: text } },
            },
          },
        },
      },
    ],
  },
};

export interface Metadata {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation?: number;
  readonly labels?: Texts;
  readonly annotations?: Texts;
  readonly continue?: string;
}

export interface RecordedObject {
  readonly metadata: Metadata;
  readonly data?: Texts;
  readonly spec?: Texts;
  readonly status?: Texts;
}

/** Where an object says that it is, and what it is. */
export function readObject(object: RecordedObject): KeyedState {
  const {
    name,
    namespace = "",
    uid,
    resourceVersion,
    generation,
    labels,
    annotations,
  } = object.metadata;
  return {
    key: { cluster: annotations?.["kcp.io/cluster"] ?? "", namespace, name },
    state: {
      uid,
      revision: Number(resourceVersion),
      generation,
      labels: labels ?? {},
      spec: object.data ?? object.spec ?? {},
      status: object.status ?? {},
    },
  };
}

export interface Written {
  readonly name: string;
  readonly spec?: Texts | undefined;
  readonly labels?: Texts | undefined;
  readonly status?: Texts | undefined;
  readonly resourceVersion?: number | undefined;
}

export function writeObject(kind: RecordedKind, written: Written): JsonObject {
  const { name, labels, spec, status, resourceVersion } = written;
  return {
    apiVersion: kind.apiVersion,
    kind: kind.kind,
    metadata: {
      name,
      ...(labels === undefined ? {} : { labels: { ...labels } }),
      ...(resourceVersion === undefined ? {} : { resourceVersion: String(resourceVersion) }),
    },
    ...(spec === undefined ? {} : { [kind.content]: { ...spec } }),
    ...(status === undefined ? {} : { status: { ...status } }),
  };
}

/** The path and query of a list or watch. */
export function collectionPath(kind: RecordedKind, scope: Scope, query: Texts = {}): string {
  const { cluster, namespace, label, field } = scope;
  const place = cluster === "*" ? "" : `/namespaces/${namespace}`;
  const search = new URLSearchParams({
    ...(label === undefined ? {} : { labelSelector: label.join("=") }),
    ...(field === undefined ? {} : { fieldSelector: field.join("=") }),
    ...query,
  });
  return `/clusters/${cluster}/${kind.group}${place}/${kind.plural}?${search}`;
}
