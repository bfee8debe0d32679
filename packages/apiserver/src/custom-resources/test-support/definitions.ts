/** Definitions for tests. */
import type { AnyObject } from "../../testing/index.ts";

export interface CronTabOptions {
  readonly group?: string;
  readonly schema?: object;
  readonly version?: object;
  readonly spec?: object;
  readonly names?: object;
  readonly scope?: "Namespaced" | "Cluster";
}

/** The example of the Kubernetes documentation, in one version. */
export function cronTabs(options: CronTabOptions = {}): AnyObject {
  const { group = "stable.example.com" } = options;
  const plural = (options.names as { plural?: string } | undefined)?.plural ?? "crontabs";
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group === "" ? "core" : group}` },
    spec: {
      group,
      scope: options.scope ?? "Namespaced",
      names: { plural, singular: "crontab", kind: "CronTab", shortNames: ["ct"], ...options.names },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          schema: { openAPIV3Schema: options.schema ?? cronTabSchema },
          ...options.version,
        },
      ],
      ...options.spec,
    },
  };
}

export const cronTabSchema = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      properties: {
        cronSpec: { type: "string", pattern: "^(\\d+|\\*)(/\\d+)?(\\s+(\\d+|\\*)(/\\d+)?){4}$" },
        image: { type: "string" },
        replicas: { type: "integer", minimum: 1, maximum: 10 },
      },
    },
    status: { type: "object", properties: { replicas: { type: "integer" } } },
  },
};
