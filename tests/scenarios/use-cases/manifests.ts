/** What the people of the use cases apply: nothing in it knows of clusters. */
import { namespace } from "./use-case-fixture.ts";

const labels = { app: "web" };

export function webDeployment(replicas: number, podSpec: object = {}): object {
  const container = {
    name: "web",
    image: "nginx:1.27",
    ports: [{ name: "http", containerPort: 8080 }],
    readinessProbe: { httpGet: { path: "/", port: "http" } },
  };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web", namespace, labels },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [container], ...podSpec } },
    },
  };
}

export const webService = {
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "web", namespace },
  spec: { selector: labels, ports: [{ name: "http", port: 80, targetPort: "http" }] },
};

export const webIngress = {
  apiVersion: "networking.k8s.io/v1",
  kind: "Ingress",
  metadata: { name: "web", namespace },
  spec: {
    rules: [
      {
        host: "web.example.io",
        http: {
          paths: [
            {
              path: "/",
              pathType: "Prefix",
              backend: { service: { name: "web", port: { name: "http" } } },
            },
          ],
        },
      },
    ],
  },
};

export const webConfig = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "web-config", namespace },
  data: { greeting: "hello" },
};

/** Mounts `web-config`. */
export const withConfig = { volumes: [{ name: "config", configMap: { name: "web-config" } }] };

export function claim(accessMode: string): object {
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name: "data", namespace },
    spec: {
      accessModes: [accessMode],
      storageClassName: "shared",
      resources: { requests: { storage: "1Gi" } },
    },
  };
}

/** Uses the claim. */
export const withData = {
  volumes: [{ name: "data", persistentVolumeClaim: { claimName: "data" } }],
};

/** Everything that is in a region, and what is placed there. */
export function locationAndPlacement(regionLabel: string, regions: readonly string[]): object[] {
  const group = { apiVersion: "scheduling.kcp.io/v1alpha1" };
  const locations = regions.map((name) => ({
    ...group,
    kind: "Location",
    metadata: { name, labels: { [regionLabel]: name } },
    spec: { instanceSelector: { matchLabels: { [regionLabel]: name } } },
  }));
  const [first = ""] = regions;
  const placement = {
    ...group,
    kind: "Placement",
    metadata: { name: "web" },
    spec: {
      locationSelectors: [{ matchLabels: { [regionLabel]: first } }],
      namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } },
    },
  };
  return [...locations, placement];
}
