/**
 * Goal: a Pod of a custom definition, created by hand or imported, has the defaults of
 * kube-apiserver.
 */
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import {
  type AnyObject,
  install,
  register,
  rulesFor,
  TestServer,
  WebhookServer,
} from "../testing/index.ts";

let server: TestServer;
let webhook: WebhookServer;
before(async () => {
  webhook = await WebhookServer.start();
});
after(() => webhook.close());
beforeEach(async () => {
  webhook.reset();
  server = await TestServer.start();
  const body = { metadata: { name: "n" } };
  await server.requestOk("POST", "/clusters/a/api/v1/namespaces", { body });
});
afterEach(() => server.close());

const anything = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
const pods = "/clusters/a/api/v1/namespaces/n/pods";

function definition(schema: object = anything): AnyObject {
  return {
    metadata: { name: "pods.core" },
    spec: {
      group: "",
      scope: "Namespaced",
      names: { plural: "pods", kind: "Pod" },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: { openAPIV3Schema: schema },
        },
      ],
    },
  };
}

const specOf = (object: AnyObject) => object["spec"] as AnyObject;
const create = async (spec: object) =>
  specOf(
    await server.requestOk("POST", pods, { body: { metadata: { generateName: "p-" }, spec } }),
  );

const container = {
  terminationMessagePath: "/dev/termination-log",
  terminationMessagePolicy: "File",
  imagePullPolicy: "Always",
  resources: {},
};
const pod = {
  dnsPolicy: "ClusterFirst",
  restartPolicy: "Always",
  schedulerName: "default-scheduler",
  terminationGracePeriodSeconds: 30,
  securityContext: {},
  enableServiceLinks: true,
};

describe("a Pod of a custom definition", () => {
  it("has the defaults of Kubernetes, and keeps its own values", async () => {
    await install(server, definition());
    const plain = await create({ containers: [{ name: "c", image: "nginx" }] });
    assert.deepEqual(plain, { ...pod, containers: [{ name: "c", image: "nginx", ...container }] });
    const said = {
      restartPolicy: "Never",
      dnsPolicy: "None",
      terminationGracePeriodSeconds: 0,
      schedulerName: "mine",
      enableServiceLinks: false,
      securityContext: { runAsUser: 1 },
      containers: [{ ...container, name: "c", image: "nginx", imagePullPolicy: "Never" }],
    };
    assert.deepEqual(await create(said), said);
  });

  it("has an imagePullPolicy by the tags of its images", async () => {
    await install(server, definition());
    const digest = `sha256:${"a".repeat(64)}`;
    const policies = [
      ["nginx", "Always"],
      ["nginx:latest", "Always"],
      ["nginx:1.27", "IfNotPresent"],
      ["registry:5000/nginx", "Always"],
      ["registry:5000/nginx:1", "IfNotPresent"],
      [`nginx@${digest}`, "IfNotPresent"],
      [`nginx:latest@${digest}`, "Always"],
    ] as const;
    const containers = policies.map(([image], at) => ({ name: `c${at}`, image }));
    const made = await create({ containers });
    assert.deepEqual(
      (made["containers"] as AnyObject[]).map(({ image, imagePullPolicy }) => [
        image,
        imagePullPolicy,
      ]),
      policies,
    );
  });

  it("has defaults in its probes, ports, volumes and resources", async () => {
    await install(server, definition());
    const made = await create({
      serviceAccount: "builder",
      hostNetwork: true,
      terminationGracePeriodSeconds: -5,
      containers: [
        {
          name: "c",
          image: "x:1",
          ports: [{ containerPort: 80 }],
          livenessProbe: { httpGet: { port: 80 } },
          env: [{ name: "N", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }],
          resources: { limits: { cpu: "1", memory: "1Gi" }, requests: { cpu: "500m" } },
        },
      ],
      volumes: [
        { name: "a" },
        { name: "b", secret: { secretName: "s" } },
        { name: "c", projected: { sources: [{ serviceAccountToken: { path: "t" } }] } },
        { name: "d", ephemeral: { volumeClaimTemplate: { spec: {} } } },
      ],
    });
    assert.equal(made["serviceAccountName"], "builder");
    assert.equal(made["terminationGracePeriodSeconds"], 1);
    const [only] = made["containers"] as AnyObject[];
    assert.deepEqual(only?.["ports"], [{ containerPort: 80, protocol: "TCP", hostPort: 80 }]);
    assert.deepEqual(only?.["livenessProbe"], {
      httpGet: { port: 80, path: "/", scheme: "HTTP" },
      timeoutSeconds: 1,
      periodSeconds: 10,
      successThreshold: 1,
      failureThreshold: 3,
    });
    assert.deepEqual(only?.["env"], [
      { name: "N", valueFrom: { fieldRef: { fieldPath: "metadata.name", apiVersion: "v1" } } },
    ]);
    assert.deepEqual(only?.["resources"], {
      limits: { cpu: "1", memory: "1Gi" },
      requests: { cpu: "500m", memory: "1Gi" },
    });
    assert.deepEqual(made["volumes"], [
      { name: "a", emptyDir: {} },
      { name: "b", secret: { secretName: "s", defaultMode: 420 } },
      {
        name: "c",
        projected: {
          sources: [{ serviceAccountToken: { path: "t", expirationSeconds: 3600 } }],
          defaultMode: 420,
        },
      },
      {
        name: "d",
        ephemeral: { volumeClaimTemplate: { metadata: {}, spec: { volumeMode: "Filesystem" } } },
      },
    ]);
  });

  it("has only defaults that its schema knows, without errors for the others", async () => {
    const text = { type: "string" };
    const containers = {
      type: "array",
      items: { type: "object", properties: { name: text, image: text, imagePullPolicy: text } },
    };
    const spec = { type: "object", properties: { restartPolicy: text, containers } };
    await install(server, definition({ type: "object", properties: { spec } }));
    const body = { metadata: { name: "p" }, spec: { containers: [{ name: "c", image: "x:1" }] } };
    const made = await server.requestOk("POST", `${pods}?fieldValidation=Strict`, { body });
    assert.deepEqual(specOf(made), {
      restartPolicy: "Always",
      containers: [{ name: "c", image: "x:1", imagePullPolicy: "IfNotPresent" }],
    });
  });

  it("gets defaults again for fields that a webhook adds, and the webhook sees the earlier ones", async () => {
    await install(server, definition());
    webhook.respondWith("/inject", () => {
      const value = [{ name: "init", image: "busybox" }];
      return { patch: [{ op: "add", path: "/spec/initContainers", value }] };
    });
    await register(server, "mutating", {
      name: "inject.example.com",
      clientConfig: webhook.client("/inject"),
      rules: rulesFor("pods"),
    });
    const made = await create({ containers: [{ name: "c", image: "nginx" }] });
    const [asked] = webhook.receivedReviews;
    assert.equal(specOf(asked?.request.object as AnyObject)["restartPolicy"], "Always");
    assert.deepEqual(made["initContainers"], [{ name: "init", image: "busybox", ...container }]);
  });

  it("that is applied has defaults without an owner", async () => {
    await install(server, definition());
    const applied = await server.patch(`${pods}/p?fieldManager=me`, "apply", {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "p" },
      spec: { containers: [{ name: "c", image: "nginx" }] },
    });
    assert.equal(specOf(applied.object)["dnsPolicy"], "ClusterFirst");
    const [owner] = applied.object.metadata["managedFields"] as { fieldsV1: object }[];
    assert.doesNotMatch(JSON.stringify(owner?.fieldsV1), /dnsPolicy|imagePullPolicy/);
  });

  it("with a spec that is no object is rejected for that", async () => {
    await install(server, definition({ type: "object", properties: { spec: { type: "object" } } }));
    const body = { metadata: { name: "p" }, spec: "nothing" };
    const { status, object } = await server.request("POST", pods, { body });
    assert.equal(status, 422);
    assert.match(object.message ?? "", /spec: Invalid value: "string"/);
  });

  it("of another group has no defaults", async () => {
    const other = definition();
    const group = "example.com";
    const body = {
      ...other,
      metadata: { name: `pods.${group}` },
      spec: { ...(other["spec"] as object), group },
    };
    await install(server, body);
    const path = `/clusters/a/apis/${group}/v1/namespaces/n/pods`;
    const made = await server.requestOk("POST", path, {
      body: { metadata: { name: "p" }, spec: { containers: [] } },
    });
    assert.deepEqual(specOf(made), { containers: [] });
  });
});
