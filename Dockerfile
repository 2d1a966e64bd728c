# The controller's image. Both stages have the same Python at the same place; whatever is installed is pinned by hash.

FROM python:3.11-bookworm AS build
WORKDIR /opt/src
COPY requirements/build.txt requirements/runtime.txt requirements/aws.txt requirements/
RUN python3.11 -m venv /opt/build \
 && /opt/build/bin/pip install --require-hashes --only-binary=:all: -r requirements/build.txt
# The environment that is shipped has no pip of its own.
RUN python3.11 -m venv --without-pip /opt/dovetail \
 && /opt/build/bin/pip --python /opt/dovetail/bin/python3.11 \
      install --require-hashes --only-binary=:all: -r requirements/runtime.txt -r requirements/aws.txt
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY src src
RUN /opt/build/bin/pip wheel --no-index --no-deps --no-build-isolation --wheel-dir /opt/wheel . \
 && /opt/build/bin/pip --python /opt/dovetail/bin/python3.11 install --no-index --no-deps /opt/wheel/*.whl

FROM python:3.11-slim-bookworm
COPY --from=build /opt/dovetail /opt/dovetail
# Bytecode was written while installing; from here on nothing is written anywhere.
ENV PATH=/opt/dovetail/bin:/usr/local/bin:/usr/bin:/bin
ENV PYTHONDONTWRITEBYTECODE=1
ENV PYTHONUNBUFFERED=1
USER 65532:65532
EXPOSE 8080 8081
ENTRYPOINT ["/opt/dovetail/bin/dovetail", "run"]
