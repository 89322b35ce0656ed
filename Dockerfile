# Candor's service. docs/install.md says how to build and run it.
FROM python:3.11-slim AS build
WORKDIR /src
RUN python -m venv /opt/candor
ENV PATH=/opt/candor/bin:$PATH
COPY pyproject.toml constraints.txt README.md LICENSE ./
# torch first and alone: the CPU build (0.2 GB). The build on PyPI brings 2.2 GB of CUDA packages. Empty: PyPI.
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
RUN pip install --no-cache-dir -c constraints.txt ${TORCH_INDEX:+--index-url $TORCH_INDEX} torch
COPY api api
COPY base base
COPY candor_client candor_client
COPY ingest ingest
COPY multi_agent multi_agent
COPY sample_docs sample_docs
COPY vectorstore vectorstore
# Extras, for example "[local]" to load GGUF files, or "[postgres]".
ARG EXTRAS=""
RUN pip install --no-cache-dir -c constraints.txt ".${EXTRAS}" && touch /opt/candor/candor-image

FROM python:3.11-slim
# Tesseract reads scanned pages.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends git tesseract-ocr \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --create-home candor \
    && install -d -o candor -g candor /data
COPY --from=build /opt/candor /opt/candor
# Listening on 0.0.0.0 needs an API key: Candor does not start without one.
ENV PATH=/opt/candor/bin:$PATH \
    CANDOR_HOME=/data \
    CANDOR_SERVICE__HOST=0.0.0.0 \
    CANDOR_SERVICE__PORT=8484 \
    PYTHONUNBUFFERED=1
USER 10001
WORKDIR /home/candor
VOLUME /data
EXPOSE 8484
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8484/healthz', timeout=4)"]
ENTRYPOINT ["candor"]
CMD ["serve"]
