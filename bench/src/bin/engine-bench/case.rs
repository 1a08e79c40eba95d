//! The kustomizations that are built.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// Objects of one application: a Deployment, a Service, a ConfigMap and a ServiceAccount that refer to each
/// other.
const KINDS: usize = 4;

const OVERLAY: &str = "\
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
- ../base
namePrefix: team-
namespace: measured
labels:
- pairs:
    team: measured
  includeSelectors: true
images:
- name: registry.example.com/app
  newTag: \"2.0\"
patches:
- target:
    kind: Deployment
  patch: |
    - op: replace
      path: /spec/replicas
      value: 3
";

/// A kustomization of a certain size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Case {
    /// How many objects; made a multiple of four.
    pub(crate) count: usize,
}

impl Case {
    /// How many objects it really has.
    pub(crate) fn objects(self) -> usize {
        self.applications() * KINDS
    }

    fn applications(self) -> usize {
        self.count.div_ceil(KINDS).max(1)
    }

    /// What it is called in the report.
    pub(crate) fn title(self) -> String {
        if self.objects() < 10 {
            format!("tiny overlay, {} objects", self.objects())
        } else {
            format!("{} objects", self.objects())
        }
    }

    /// Writes the kustomization below a directory and returns the one to build.
    pub(crate) fn write(self, directory: &Path) -> Result<PathBuf> {
        let (base, overlay) = (directory.join("base"), directory.join("overlay"));
        let write = || -> std::io::Result<()> {
            fs::create_dir_all(&base)?;
            fs::create_dir_all(&overlay)?;
            fs::write(overlay.join("kustomization.yaml"), OVERLAY)?;
            fs::write(
                base.join("kustomization.yaml"),
                "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n- objects.yaml\n",
            )?;
            let mut file = BufWriter::new(File::create(base.join("objects.yaml"))?);
            for number in 0..self.applications() {
                write_application(&mut file, number)?;
            }
            file.flush()
        };
        write().map_err(Error::io(format!(
            "write the kustomization to {}",
            directory.display()
        )))?;
        Ok(overlay)
    }
}

fn write_application(out: &mut impl Write, number: usize) -> std::io::Result<()> {
    write!(
        out,
        "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: app-{number}
  labels:
    app: app-{number}
spec:
  replicas: 2
  selector:
    matchLabels:
      app: app-{number}
  template:
    metadata:
      labels:
        app: app-{number}
    spec:
      serviceAccountName: app-{number}
      containers:
      - name: app
        image: registry.example.com/app:1.0
        ports:
        - name: http
          containerPort: 8080
        env:
        - name: LEVEL
          valueFrom:
            configMapKeyRef:
              name: app-{number}
              key: level
        envFrom:
        - configMapRef:
            name: app-{number}
        resources:
          requests:
            cpu: 100m
            memory: 64Mi
          limits:
            memory: 128Mi
---
apiVersion: v1
kind: Service
metadata:
  name: app-{number}
spec:
  selector:
    app: app-{number}
  ports:
  - name: http
    port: 80
    targetPort: http
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: app-{number}
data:
  level: info
  settings.yaml: |
    name: app-{number}
    replicas: 2
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: app-{number}
---
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_hold_the_objects_that_their_title_tells() {
        let directory = tempfile::tempdir().unwrap();
        for (count, objects, title) in [
            (1, 4, "tiny overlay, 4 objects"),
            (1000, 1000, "1000 objects"),
            (10, 12, "12 objects"),
        ] {
            let case = Case { count };
            assert_eq!((case.objects(), case.title().as_str()), (objects, title));
            let overlay = case.write(directory.path()).unwrap();
            assert!(overlay.join("kustomization.yaml").is_file());
            let text = fs::read_to_string(directory.path().join("base/objects.yaml")).unwrap();
            assert_eq!(text.matches("\nkind: ").count(), objects);
        }
    }
}
