# The game in a terminal:
#
#     docker build --tag gv-engine .
#     docker run --rm --interactive --tty gv-engine                 # the key-door level
#     docker run --rm --interactive --tty gv-engine tutorial --terminal
FROM python:3.13-slim

RUN useradd --create-home player
COPY . /src
RUN pip install --no-cache-dir --prefer-binary "/src[math]" && rm -r /src

USER player
WORKDIR /home/player
ENV TERM=xterm-256color COLORTERM=truecolor SDL_VIDEODRIVER=dummy SDL_AUDIODRIVER=dummy
ENTRYPOINT ["gv-engine", "play"]
CMD ["keydoor-9x9", "--terminal"]
