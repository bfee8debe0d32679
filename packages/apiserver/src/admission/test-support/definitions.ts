/** A custom kind for tests of admission: CronTab, in one or more versions. */
import type { AnyObject } from "../../testing/index.ts";

export interface CronTabOptions {
  readonly group?: string;
  readonly schema?: object;
  readonly versions?: readonly object[];
}

export function cronTabs(options: CronTabOptions = {}): AnyObject {
  const { group = "stable.example.com", schema = cronTabSchema } = options;
  const only = { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `crontabs.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { plural: "crontabs", singular: "crontab", kind: "CronTab" },
      versions: options.versions ?? [only],
    },
  };
}

const cronTabSchema = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      properties: { image: { type: "string" }, replicas: { type: "integer" } },
    },
  },
};
