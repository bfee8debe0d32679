/**
 * A CRD schema as big ones look: a pod template with three container lists, long descriptions, quantities, map lists, probes, volumes.
 *
 * Seeded by counting, not by chance: two calls give equal schemas.
 */
import type { JsonObject, JsonValue } from "../../json/index.ts";

type Schema = { [key: string]: JsonValue };

const lorem =
  "Cannot be updated once set, unless the controller that owns this object agrees; see the conventions of the API for details. ";

const describe = (what: string, sentences: number): string => `${what} ${lorem.repeat(sentences)}`;

const text = (what: string, extra: Schema = {}): Schema => ({
  type: "string",
  description: describe(what, 2),
  ...extra,
});

const int32 = (what: string, extra: Schema = {}): Schema => ({
  type: "integer",
  format: "int32",
  description: describe(what, 1),
  ...extra,
});

const quantity: Schema = {
  anyOf: [{ type: "integer" }, { type: "string" }],
  pattern:
    "^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$",
  "x-kubernetes-int-or-string": true,
};

const port: Schema = {
  anyOf: [{ type: "integer" }, { type: "string" }],
  description: describe("Name or number of the port.", 2),
  "x-kubernetes-int-or-string": true,
};

const object = (properties: Schema, required: string[] = []): Schema => ({
  type: "object",
  description: describe("A structured part.", 1),
  properties,
  ...(required.length === 0 ? {} : { required }),
});

const stringMap: Schema = { type: "object", additionalProperties: { type: "string" } };

const mapList = (items: Schema, ...keys: string[]): Schema => ({
  type: "array",
  items,
  "x-kubernetes-list-type": "map",
  "x-kubernetes-list-map-keys": keys,
});

function probe(): Schema {
  return object({
    exec: object({
      command: { type: "array", items: text("Argument."), "x-kubernetes-list-type": "atomic" },
    }),
    httpGet: object(
      {
        host: text("Host name to connect to."),
        path: text("Path to access."),
        port,
        scheme: text("Scheme.", { enum: ["HTTP", "HTTPS"], default: "HTTP" }),
        httpHeaders: {
          type: "array",
          items: object({ name: text("Header."), value: text("Value.") }, ["name", "value"]),
        },
      },
      ["port"],
    ),
    tcpSocket: object({ host: text("Host."), port }, ["port"]),
    initialDelaySeconds: int32("Seconds after start.", { minimum: 0 }),
    timeoutSeconds: int32("Timeout.", { minimum: 1, default: 1 }),
    periodSeconds: int32("Period.", { minimum: 1, default: 10 }),
    successThreshold: int32("Successes.", { default: 1 }),
    failureThreshold: int32("Failures.", { default: 3 }),
  });
}

function container(): Schema {
  const resources = { type: "object", additionalProperties: quantity } satisfies Schema;
  return object(
    {
      name: text("Name.", { maxLength: 63, pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$" }),
      image: text("Image.", { minLength: 1 }),
      imagePullPolicy: text("Policy.", {
        enum: ["Always", "Never", "IfNotPresent"],
        default: "IfNotPresent",
      }),
      args: { type: "array", items: text("Argument."), maxItems: 1000 },
      command: { type: "array", items: text("Command."), maxItems: 1000 },
      env: mapList(
        object(
          {
            name: text("Variable.", { minLength: 1 }),
            value: text("Value."),
            valueFrom: object({
              configMapKeyRef: object(
                { name: text("Name."), key: text("Key."), optional: { type: "boolean" } },
                ["key"],
              ),
              fieldRef: object({ apiVersion: text("Version."), fieldPath: text("Path.") }, [
                "fieldPath",
              ]),
              secretKeyRef: object(
                { name: text("Name."), key: text("Key."), optional: { type: "boolean" } },
                ["key"],
              ),
            }),
          },
          ["name"],
        ),
        "name",
      ),
      ports: mapList(
        object(
          {
            containerPort: int32("Port.", { minimum: 1, maximum: 65535 }),
            hostPort: int32("Port.", { minimum: 1, maximum: 65535 }),
            name: text("Name."),
            protocol: text("Protocol.", { enum: ["TCP", "UDP", "SCTP"], default: "TCP" }),
          },
          ["containerPort"],
        ),
        "containerPort",
        "protocol",
      ),
      resources: object({ limits: resources, requests: resources }),
      livenessProbe: probe(),
      readinessProbe: probe(),
      startupProbe: probe(),
      securityContext: object({
        runAsUser: { type: "integer", format: "int64", minimum: 0 },
        readOnlyRootFilesystem: { type: "boolean" },
        capabilities: object({
          add: { type: "array", items: text("Capability.") },
          drop: { type: "array", items: text("Capability.") },
        }),
      }),
      volumeMounts: mapList(
        object({ name: text("Name."), mountPath: text("Path."), readOnly: { type: "boolean" } }, [
          "name",
          "mountPath",
        ]),
        "mountPath",
      ),
    },
    ["name"],
  );
}

/** Kinds of volume differ from each other, so that not everything can be shared. */
function volumes(kinds: number): Schema {
  const sources: Schema = { name: text("Name.") };
  for (let i = 0; i < kinds; i++) {
    const fields: Schema = {};
    for (let k = 0; k < 12; k++) {
      fields[`field${i}x${k}`] =
        k % 4 === 0
          ? int32(`Setting ${k} of kind ${i}.`, { minimum: i, maximum: 1000 + k })
          : text(`Setting ${k} of kind ${i}.`, k % 4 === 1 ? { maxLength: 100 + i } : {});
    }
    fields["secretRef"] = object({ name: text("Name.") });
    sources[`kind${i}`] = object(fields, [`field${i}x0`]);
  }
  return mapList(object(sources, ["name"]), "name");
}

export interface DeploymentLikeOptions {
  readonly volumeKinds?: number;
}

export function deploymentLikeSchema({
  volumeKinds = 105,
}: DeploymentLikeOptions = {}): JsonObject {
  const selector = object({
    matchLabels: stringMap,
    matchExpressions: {
      type: "array",
      items: object(
        {
          key: text("Key."),
          operator: text("Operator."),
          values: { type: "array", items: text("Value.") },
        },
        ["key", "operator"],
      ),
    },
  });
  const podSpec = object(
    {
      containers: mapList(container(), "name"),
      initContainers: mapList(container(), "name"),
      ephemeralContainers: mapList(container(), "name"),
      volumes: volumes(volumeKinds),
      nodeSelector: stringMap,
      restartPolicy: text("Policy.", { default: "Always" }),
      terminationGracePeriodSeconds: { type: "integer", format: "int64", default: 30 },
      tolerations: {
        type: "array",
        items: object({
          key: text("Key."),
          operator: text("Operator."),
          effect: text("Effect."),
          tolerationSeconds: { type: "integer", format: "int64" },
        }),
      },
    },
    ["containers"],
  );
  const conditions = mapList(
    object(
      {
        type: text("Type.", { maxLength: 316 }),
        status: text("Status.", { enum: ["True", "False", "Unknown"] }),
        reason: text("Reason.", { pattern: "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$" }),
        message: text("Message.", { maxLength: 32768 }),
        lastTransitionTime: text("Time.", { format: "date-time" }),
      },
      ["type", "status"],
    ),
    "type",
  );
  return {
    type: "object",
    description: describe("A thing like a Deployment.", 3),
    required: ["spec"],
    properties: {
      apiVersion: { type: "string" },
      kind: { type: "string" },
      metadata: { type: "object" },
      spec: object(
        {
          replicas: int32("Replicas.", { minimum: 0, default: 1 }),
          paused: { type: "boolean" },
          selector,
          strategy: object({
            type: text("Type.", { enum: ["Recreate", "RollingUpdate"], default: "RollingUpdate" }),
            rollingUpdate: object({ maxSurge: port, maxUnavailable: port }),
          }),
          template: object({
            metadata: object({ labels: stringMap, annotations: stringMap, name: text("Name.") }),
            spec: podSpec,
          }),
        },
        ["selector", "template"],
      ),
      status: object({
        replicas: int32("Replicas."),
        readyReplicas: int32("Ready."),
        observedGeneration: { type: "integer", format: "int64" },
        conditions,
      }),
    },
  };
}

/** An object of about 2 KB that fits the schema. */
export function deploymentLikeObject(): JsonObject {
  const one = (i: number): JsonObject => ({
    name: `container-${i}`,
    image: `registry.example.com/team/application-${i}:v1.2.${i}`,
    env: [
      { name: "LOG_LEVEL", value: "info" },
      { name: "REGION", valueFrom: { fieldRef: { fieldPath: "metadata.labels['region']" } } },
    ],
    ports: [{ containerPort: 8080 + i, name: "http", protocol: "TCP" }],
    resources: {
      limits: { cpu: "500m", memory: "256Mi" },
      requests: { cpu: "100m", memory: "64Mi" },
    },
    readinessProbe: { httpGet: { path: "/readyz", port: 8080 + i }, periodSeconds: 5 },
    volumeMounts: [{ name: "data", mountPath: "/var/lib/data" }],
  });
  const labels = { app: "shop", tier: "frontend", "app.kubernetes.io/name": "shop" };
  return {
    apiVersion: "example.com/v1",
    kind: "Deployish",
    metadata: { name: "shop", namespace: "default", labels, annotations: { note: "measured" } },
    spec: {
      replicas: 3,
      selector: { matchLabels: labels },
      strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: "25%", maxUnavailable: 1 } },
      template: {
        metadata: { labels },
        spec: {
          containers: [one(0), one(1)],
          volumes: [{ name: "data", kind3: { field3x0: 7, field3x1: "text" } }],
          nodeSelector: { "kubernetes.io/os": "linux" },
          tolerations: [{ key: "dedicated", operator: "Exists", effect: "NoSchedule" }],
        },
      },
    },
    status: {
      replicas: 3,
      conditions: [
        {
          type: "Ready",
          status: "True",
          reason: "AllGood",
          lastTransitionTime: "2026-11-15T10:00:00Z",
        },
      ],
    },
  };
}
